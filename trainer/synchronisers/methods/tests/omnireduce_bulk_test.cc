// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/collectives/metered.hh"
#include "trainer/commands/conformance/session.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::integer_gradient;
using trainer::testing::make_world;
using trainer::testing::Session;
using trainer::testing::World;

const Json blocks_of_four = {{"name", "omnireduce_bulk"}, {"block_size", 4}};

// Each block of four is zero with about this probability.
torch::Tensor blocky_gradient(const World& world, int rank, double zero_blocks) {
  std::vector<float> uniform(static_cast<std::size_t>(world.bucket.size + 3) / 4);
  fill_uniform({.seed = 13, .rank = static_cast<std::uint32_t>(rank)}, uniform);
  const torch::Tensor dropped =
      torch::tensor(uniform).lt(zero_blocks).repeat_interleave(4).narrow(0, 0, world.bucket.size);
  return integer_gradient(world, rank, 1).masked_fill(dropped, 0);
}

TEST(OmniReduceBulk, GivesTheMeanWhateverTheDensity) {
  constexpr int workers = 4;
  const World world = make_world(999, false);  // the last block has three
  for (const double zero_blocks : {0.0, 0.3, 0.95, 1.0}) {
    torch::Tensor mean = torch::zeros({999});
    for (int rank = 0; rank < workers; ++rank) mean += blocky_gradient(world, rank, zero_blocks) / workers;
    run_in_process(workers, [&](Collective& network) {
      Session session(blocks_of_four, world, network);
      EXPECT_TRUE(session.step(blocky_gradient(world, network.rank(), zero_blocks), 1).equal(mean))
          << zero_blocks;
    });
  }
}

TEST(OmniReduceBulk, TakesABlockLongerThanAnyBucket) {
  const World world = make_world(10, false);
  run_in_process(2, [&](Collective& network) {
    Session session({{"name", "omnireduce_bulk"}, {"block_size", std::numeric_limits<std::int64_t>::max()}},
                    world, network);
    EXPECT_TRUE(session.step(torch::ones({10}), 1).equal(torch::ones({10})));
    EXPECT_EQ(session.method().traffic(world.bucket, 2).payload_bytes, 2 * 4 + 4 + 2 * (1 + 4 * 10));
  });
}

// n = 10: blocks of 4, 4 and 2, the first and the last owned by worker 0. Only the last is not zero, and only
// on worker 0.
TEST(OmniReduceBulk, SendsNonZeroBlocksOnly) {
  const World world = make_world(10, false);
  run_in_process(2, [&](Collective& network) {
    MeteredCollective metered(std::make_unique<Borrowed>(network));
    Session session(blocks_of_four, world, metered);
    torch::Tensor gradient = torch::zeros({10});
    if (network.rank() == 0) gradient[9] = 6;
    metered.begin_section();
    const torch::Tensor out = session.step(gradient, 1);
    const std::int64_t payload = metered.end_section().payload_bytes;
    EXPECT_EQ(out[9].item<float>(), 3);
    constexpr std::int64_t sizes = 2 * 4 + 4;
    constexpr std::int64_t last_block = 2 * 4;
    // A one-byte bitmap to each owner, and one with its sums.
    EXPECT_EQ(payload,
              network.rank() == 0 ? sizes + (1 + last_block) + 1 + (1 + last_block) : sizes + 1 + 1 + 1);
  });
}

TEST(OmniReduceBulk, ItsBoundCountsTheBlocksThatPruningLeft) {
  World world = make_world(16, false);
  // Of the first parameter, entries 0 to 7, only entry 5 is kept: block 0 is always zero.
  world.kept[0] = torch::arange(8).eq(5);
  run_in_process(1, [&](Collective& network) {
    Session session(blocks_of_four, world, network);
    const double message = 1 + 3 * 4 * 4;
    EXPECT_EQ(session.method().traffic(world.bucket, 1).payload_bytes, 4 + 4 + 2 * message);
  });
}

}  // namespace
}  // namespace thinpipe::trainer

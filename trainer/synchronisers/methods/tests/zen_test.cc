// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/collectives/metered.hh"
#include "trainer/commands/conformance/session.hh"
#include "trainer/synchronisers/entries/hashed_owners.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::integer_gradient;
using trainer::testing::make_world;
using trainer::testing::Session;
using trainer::testing::World;

// Each entry is non-zero with about this probability; small integers, so sums are exact.
torch::Tensor sparse_gradient(const World& world, int rank, double density) {
  std::vector<float> uniform(static_cast<std::size_t>(world.bucket.size));
  fill_uniform({.seed = 12, .rank = static_cast<std::uint32_t>(rank)}, uniform);
  const torch::Tensor dropped = torch::tensor(uniform).ge(density);
  return integer_gradient(world, rank, 1).masked_fill(dropped, 0);
}

TEST(Zen, GivesTheMeanWhateverTheDensity) {
  constexpr int workers = 4;
  const World world = make_world(1000, false);
  for (const double density : {0.0, 0.05, 1.0}) {
    torch::Tensor mean = torch::zeros({1000});
    for (int rank = 0; rank < workers; ++rank) mean += sparse_gradient(world, rank, density) / workers;
    run_in_process(workers, [&](Collective& network) {
      Session session({{"name", "zen"}}, world, network);
      EXPECT_TRUE(session.step(sparse_gradient(world, network.rank(), density), 1).equal(mean)) << density;
    });
  }
}

TEST(Zen, DoesNotLoseIndex0) {
  const World world = make_world(9, false);
  run_in_process(3, [&](Collective& network) {
    Session session({{"name", "zen"}}, world, network);
    torch::Tensor gradient = torch::zeros({9});
    if (network.rank() == 1) gradient[0] = 6;
    const torch::Tensor out = session.step(gradient, 1);
    EXPECT_EQ(out[0].item<float>(), 2);
    EXPECT_EQ(out.count_nonzero().item<std::int64_t>(), 1);
  });
}

// One worker, n = 9, which owns all entries. Sizes 4 + 4; a bitmap of 2 bytes; 8 per entry pushed, 4 per
// entry pulled.
TEST(Zen, SendsNonZeroEntriesOnly) {
  const World world = make_world(9, false);
  run_in_process(1, [&](Collective& network) {
    MeteredCollective metered(std::make_unique<Borrowed>(network));
    Session session({{"name", "zen"}}, world, metered);
    const auto payload_of = [&](const torch::Tensor& gradient) {
      metered.begin_section();
      session.step(gradient, 1);
      return metered.end_section().payload_bytes;
    };
    EXPECT_EQ(payload_of(torch::zeros({9})), 4 + 4 + 2);
    torch::Tensor two = torch::zeros({9});
    two[3] = 1;
    two[8] = -1;
    EXPECT_EQ(payload_of(two), 4 + 4 + 2 + 2 * (8 + 4));
    EXPECT_EQ(payload_of(torch::ones({9})), 4 + 4 + 2 + 9 * (8 + 4));
    EXPECT_EQ(session.method().traffic(world.bucket, 1).payload_bytes, 4 + 4 + 2 + 9 * (8 + 4));
  });
}

TEST(Zen, ItsBoundCountsTheEntriesThatPruningKept) {
  const World world = make_world(1000, true);  // every second one of the first 500 is pruned
  run_in_process(1, [&](Collective& network) {
    Session session({{"name", "zen"}}, world, network);
    EXPECT_EQ(session.method().traffic(world.bucket, 1).payload_bytes, 4 + 4 + 125 + 750 * (8 + 4));
    session.method().adopt_masks({torch::zeros({500}, torch::kBool), torch::Tensor()});
    EXPECT_EQ(session.method().traffic(world.bucket, 1).payload_bytes, 4 + 4 + 125 + 500 * (8 + 4));
  });
}

// Entries that cancel in the sum are not pulled.
TEST(Zen, LeavesOutWhatCancels) {
  const World world = make_world(2, false);
  run_in_process(2, [&](Collective& network) {
    MeteredCollective metered(std::make_unique<Borrowed>(network));
    Session session({{"name", "zen"}}, world, metered);
    metered.begin_section();
    const torch::Tensor out = session.step(torch::full({2}, network.rank() == 0 ? 1.0F : -1.0F), 1);
    EXPECT_TRUE(out.eq(0).all().item<bool>());
    const auto own = HashedOwners(2, 2, 5).of(network.rank()).size();
    EXPECT_EQ(metered.end_section().payload_bytes, 8 + 2 * 8 + 4 + (own == 0 ? 0 : 1));
  });
}

}  // namespace
}  // namespace thinpipe::trainer

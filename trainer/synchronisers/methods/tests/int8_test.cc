// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/commands/conformance/session.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::make_world;
using trainer::testing::real_gradient;
using trainer::testing::Session;
using trainer::testing::World;

// The part of each owner has blocks of its own.
torch::Tensor largest_of_block(const torch::Tensor& values, std::int64_t part, std::int64_t block) {
  torch::Tensor largest = torch::empty_like(values);
  for (std::int64_t begin = 0; begin < values.numel();) {
    const std::int64_t in_part = std::min(part - begin % part, values.numel() - begin);
    const std::int64_t size = std::min(block - begin % part % block, in_part);
    largest.narrow(0, begin, size).fill_(values.narrow(0, begin, size).abs().max());
    begin += size;
  }
  return largest;
}

TEST(Int8, ErrsByTwoRoundingsWhateverTheNumberOfWorkers) {
  constexpr std::int64_t n = 1000;
  constexpr std::int64_t block = 64;
  const World world = make_world(n, false);
  for (const int workers : {1, 2, 3, 7}) {
    const std::int64_t part = (n + workers - 1) / workers;
    torch::Tensor mean = torch::zeros({n});
    torch::Tensor bound = torch::zeros({n});
    for (int rank = 0; rank < workers; ++rank) {
      const torch::Tensor gradient = real_gradient(world, rank, 1);
      mean += gradient / workers;
      bound += largest_of_block(gradient, part, block) / 254 / workers;
    }
    // The second rounding is of the rounded mean.
    bound += largest_of_block(mean.abs() + bound, part, block) / 254;
    run_in_process(workers, [&](Collective& network) {
      Session session({{"name", "int8"}, {"block_size", block}}, world, network);
      const torch::Tensor out = session.step(real_gradient(world, network.rank(), 1), 1);
      EXPECT_TRUE((out - mean).abs().le(bound * (1 + 1e-4)).all().item<bool>()) << workers;
      EXPECT_FALSE(out.equal(mean)) << workers;
    });
  }
}

TEST(Int8, LevelsOfEveryWorkerAreSummedExactly) {
  const World world = make_world(6, false);
  run_in_process(2, [&](Collective& network) {
    Session session({{"name", "int8"}, {"block_size", 2}}, world, network);
    // Blocks of 2 and 1 entries for each owner. The mean of both workers is on a level again.
    const torch::Tensor gradient = network.rank() == 0
                                       ? torch::tensor({127.0F, 3.0F, -5.0F, 127.0F, 0.0F, 2.0F})
                                       : torch::tensor({127.0F, -7.0F, 5.0F, 127.0F, 0.0F, 4.0F});
    EXPECT_TRUE(session.step(gradient, 1).equal(torch::tensor({127.0F, -2.0F, 0.0F, 127.0F, 0.0F, 3.0F})));
  });
}

TEST(Int8, AtEachHopRoundsOnceForEverySumOnTheWay) {
  constexpr std::int64_t n = 1000;
  const World world = make_world(n, false);
  // A chain of four workers, whose ends are three hops from the root at most.
  const std::vector<int> chain = {-1, 0, 1, 2};
  torch::Tensor mean = torch::zeros({n});
  torch::Tensor bound = torch::zeros({n});
  for (int rank = 3; rank >= 0; --rank) {
    const torch::Tensor gradient = real_gradient(world, rank, 1);
    bound += largest_of_block(gradient, n, 256) / 254;
    mean += gradient;
    if (rank < 3) bound += largest_of_block(mean.abs() + bound, n, 256) / 254;
  }
  mean /= 4;
  bound /= 4;
  run_in_process(4, chain, [&](const std::unique_ptr<Collective>& network) {
    Session session({{"name", "int8"}, {"sum", "each_hop"}}, world, *network);
    const torch::Tensor out = session.step(real_gradient(world, network->rank(), 1), 1);
    EXPECT_TRUE((out - mean).abs().le(bound * (1 + 1e-4)).all().item<bool>());
    EXPECT_FALSE(out.equal(mean));
    EXPECT_EQ(session.method().traffic(world.bucket, 4).payload_bytes, 4 * 260);
    EXPECT_EQ(session.method().traffic(world.bucket, 4).sent_bytes, 2 * 0.75 * 4 * 260);
  });
}

TEST(Int8, RefusesOtherBlocksAtEachHop) {
  EXPECT_THROW(SynchroniserRegistry::instance().make(
                   {{"name", "int8"}, {"sum", "each_hop"}, {"block_size", 64}}, Place{"test", ""}, {}),
               InputError);
}

TEST(Int8, SendsAByteTwicePerEntryAndScales) {
  const World world = make_world(9, false);
  run_in_process(1, [&](Collective& network) {
    Session session({{"name", "int8"}, {"block_size", 4}}, world, network);
    const Synchroniser& method = session.method();
    // Parts of 3 entries with one scale; four of them to owners, one gathered.
    EXPECT_EQ(method.traffic(world.bucket, 4).payload_bytes, 5 * (3 + 4));
    EXPECT_EQ(method.traffic(world.bucket, 4).sent_bytes, 2 * 3 * (3 + 4));
    EXPECT_EQ(method.traffic(world.bucket, 4).delivered_bytes, 2 * 3 * (3 + 4));
  });
}

}  // namespace
}  // namespace thinpipe::trainer

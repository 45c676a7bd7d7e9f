#include <algorithm>

#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/synchronisers/sparse/spar_schedule.hh"
#include "trainer/synchronisers/tests/conservation.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::balanced_step;
using trainer::testing::exact_mean;
using trainer::testing::integer_gradient;
using trainer::testing::make_world;
using trainer::testing::residual_of;
using trainer::testing::Session;
using trainer::testing::World;

// Blocks as seen from one worker, whose own block is 0. Every other block is passed on once, after everything
// for it has arrived.
TEST(SparRounds, HandOnEveryBlockButTheOwnOnce) {
  for (int workers = 1; workers <= 17; ++workers) {
    std::vector<int> handed_on;
    int left = workers;
    for (const SparRound& round : spar_rounds(workers)) {
      for (int b = 0; b < round.blocks; ++b) handed_on.push_back(round.distance + b);
      left -= round.blocks;
      EXPECT_EQ(left, round.distance) << "the blocks nearer than the distance are left";
      EXPECT_LE(round.blocks, left) << "received entries belong to blocks that are still there";
    }
    std::ranges::sort(handed_on);
    ASSERT_EQ(std::ssize(handed_on), workers - 1);
    for (int b = 1; b < workers; ++b) EXPECT_EQ(handed_on[static_cast<std::size_t>(b - 1)], b);
  }
}

// Two blocks of two, one entry kept of each.
//   worker 0: acc = 4 1 | 2 3, sends 3 at index 3;  its block becomes 4 3, of which 4 at index 0 is kept
//   worker 1: acc = 1 2 | 5 1, sends 2 at index 1;  its block becomes 5 4, of which 5 at index 2 is kept
// G = {0, 2}. Off G each worker keeps its own entries; on G worker 0 has 2 at index 2, worker 1 has 1 at
// index 0.
TEST(SparDL, ByHand) {
  const World world = make_world(4, false);
  run_in_process(2, [&](Collective& network) {
    Session session({{"name", "spardl"}, {"ratio", 0.5}}, world, network);
    const bool first = network.rank() == 0;
    const torch::Tensor gradient =
        first ? torch::tensor({4.0F, 1.0F, 2.0F, 3.0F}) : torch::tensor({1.0F, 2.0F, 5.0F, 1.0F});
    EXPECT_TRUE(session.step(gradient, 1).equal(torch::tensor({2.0F, 0.0F, 2.5F, 0.0F})));
    EXPECT_TRUE(residual_of(session, world)
                    .equal(first ? torch::tensor({0.0F, 1.0F, 2.0F, 3.0F})
                                 : torch::tensor({1.0F, 2.0F, 0.0F, 1.0F})));
  });
}

TEST(SparDL, KeepingAllIsTheMean) {
  for (const int workers : {1, 2, 3, 4, 7}) {
    const World world = make_world(50, false);
    run_in_process(workers, [&](Collective& network) {
      Session session({{"name", "spardl"}, {"ratio", 1.0}}, world, network);
      const torch::Tensor out = session.step(integer_gradient(world, network.rank(), 1), 1);
      const torch::Tensor sum = out.to(torch::kDouble).mul(workers).round();
      EXPECT_TRUE(sum.equal(exact_mean(world, workers, 1).mul(workers).round())) << workers;
      EXPECT_TRUE(residual_of(session, world).eq(0).all().item<bool>()) << workers;
    });
  }
}

TEST(SparDL, ConservesIntegersAndKeepsFewEntries) {
  constexpr std::int64_t n = 60;
  for (const int workers : {2, 3, 5, 6, 7, 8}) {
    const World world = make_world(n, false);
    const std::int64_t block = (n + workers - 1) / workers;
    const std::int64_t kept = std::max<std::int64_t>(1, block / 4);
    run_in_process(workers, [&](Collective& network) {
      Session session({{"name", "spardl"}, {"ratio", 0.25}}, world, network);
      for (int step = 1; step <= 4; ++step) {
        const auto [out, lost] =
            balanced_step(session, world, network, integer_gradient(world, network.rank(), step), step);
        EXPECT_LT(lost, 1e-3) << workers << " workers, step " << step;
        EXPECT_LE(out.count_nonzero().item<std::int64_t>(), workers * kept);
      }
    });
  }
}

}  // namespace
}  // namespace thinpipe::trainer

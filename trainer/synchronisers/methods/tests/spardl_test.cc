// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <mutex>

#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/collectives/metered.hh"
#include "trainer/synchronisers/entries/spar_schedule.hh"
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

// Two teams of two, four entries in two blocks, one entry kept of each block. Workers 0 and 1 are a team; 0 and 2 own
// the first block, 1 and 3 the second.
//   team 0: 0 passes 3 at index 3 to 1, which has 4 1 there: 4 4 at 2 and 3, of which it keeps 4 at 2;
//           1 passes 2 at index 1 to 0, which has 6 0 there: 6 2, of which it keeps 6 at 0
//   team 1: 2 passes 1 at index 2 to 3, which has 0 5 there: it keeps 5 at 3;
//           3 passes 7 at index 1 to 2, which has 0 1 there: it keeps 8 at 1
// First block: 6 at 0 and 8 at 1 are swapped and 8 is kept; 0 and 2 each add 3 at index 0, which is not in G.
// Second block: 4 at 2 and 5 at 3; 5 is kept. G = {1, 3}. On G, 0 has 2 at index 1, and 1 has 4 at index 3.
TEST(SparDL, TwoTeamsByHand) {
  const World world = make_world(4, false);
  run_in_process(4, [&](Collective& network) {
    const std::vector<std::vector<float>> gradients = {
        {6, 0, 1, 3}, {0, 2, 4, 1}, {0, 1, 1, 0}, {1, 7, 0, 5}};
    const std::vector<std::vector<float>> residuals = {
        {6, 2, 1, 0}, {0, 0, 4, 4}, {0, 0, 1, 0}, {1, 0, 0, 0}};
    Session session({{"name", "spardl"}, {"ratio", 0.5}, {"teams", 2}}, world, network);
    const auto rank = static_cast<std::size_t>(network.rank());
    EXPECT_TRUE(
        session.step(torch::tensor(gradients[rank]), 1).equal(torch::tensor({0.0F, 2.0F, 0.0F, 1.25F})));
    EXPECT_TRUE(residual_of(session, world).equal(torch::tensor(residuals[rank]))) << "worker " << rank;
  });
}

// Four teams of one worker, one entry kept of one block.
//   first swap:  0 and 1 add 5 at 0 and 3 at 1, keep 5 and have 3/2 each of the other;
//                2 and 3 add 4 at 1 and 2 at 2, keep 4 and have 2/2 each of the other
//   second swap: 5 at 0 and 4 at 1; 5 is kept
// G = {0}: off G each worker has its own gradient, so that the shares of the dropped entries are not needed.
TEST(SparDL, DroppedSumsOfEarlierSwapsAreShared) {
  const World world = make_world(3, false);
  run_in_process(4, [&](Collective& network) {
    Session session({{"name", "spardl"}, {"ratio", 0.4}, {"teams", 4}}, world, network);
    // In the second step, 0 and 1 drop their 4 at index 1 in the first swap, but 2 and 3 bring 12 there.
    const std::vector<std::vector<float>> first = {{5, 0, 0}, {0, 3, 0}, {0, 4, 0}, {0, 0, 2}};
    const std::vector<std::vector<float>> second = {{6, 0, 0}, {0, 1, 0}, {0, 4, 0}, {0, 4, 0}};
    const auto rank = static_cast<std::size_t>(network.rank());
    EXPECT_TRUE(session.step(torch::tensor(first[rank]), 1).equal(torch::tensor({1.25F, 0.0F, 0.0F})));
    const std::vector<std::vector<float>> left = {{0, 0, 0}, {0, 3, 0}, {0, 4, 0}, {0, 0, 2}};
    EXPECT_TRUE(residual_of(session, world).equal(torch::tensor(left[rank]))) << "worker " << rank;
    EXPECT_TRUE(session.step(torch::tensor(second[rank]), 2).equal(torch::tensor({0.0F, 3.0F, 0.0F})));
    const std::vector<std::vector<float>> shared = {{6, 2, 0}, {0, 2, 0}, {0, 0, 0}, {0, 0, 2}};
    EXPECT_TRUE(residual_of(session, world).equal(torch::tensor(shared[rank]))) << "worker " << rank;
  });
}

struct TeamedWorkers {
  int workers;
  int count;
};

std::vector<TeamedWorkers> all_teams() {
  std::vector<TeamedWorkers> out = {{1, 1}, {2, 1}, {3, 1}, {5, 1}, {7, 1}, {2, 2}, {6, 6}, {14, 7}};
  for (const int workers : {4, 6, 8, 12}) {
    for (const int count : {1, 2, 3, 4}) {
      if (workers % count == 0) out.push_back({workers, count});
    }
  }
  return out;
}

Json spardl(double ratio, int teams) {
  return {{"name", "spardl"}, {"ratio", ratio}, {"teams", teams}};
}

TEST(SparDL, KeepingAllIsTheMean) {
  for (const auto& [workers, teams] : all_teams()) {
    const World world = make_world(50, false);
    run_in_process(workers, [&, workers = workers, teams = teams](Collective& network) {
      Session session(spardl(1.0, teams), world, network);
      for (int step = 1; step <= 2; ++step) {
        const torch::Tensor out = session.step(integer_gradient(world, network.rank(), step), step);
        const torch::Tensor sum = out.to(torch::kDouble).mul(workers).round();
        EXPECT_TRUE(sum.equal(exact_mean(world, workers, step).mul(workers).round()))
            << workers << " workers, " << teams << " teams";
        EXPECT_TRUE(residual_of(session, world).eq(0).all().item<bool>())
            << workers << " workers, " << teams << " teams";
      }
    });
  }
}

TEST(SparDL, ConservesIntegersAndKeepsFewEntries) {
  constexpr std::int64_t n = 60;
  for (const auto& [workers, teams] : all_teams()) {
    const World world = make_world(n, false);
    const int blocks = workers / teams;
    const std::int64_t kept = std::max<std::int64_t>(1, (n + blocks - 1) / blocks / 4);
    run_in_process(workers, [&, workers = workers, teams = teams](Collective& network) {
      Session session(spardl(0.25, teams), world, network);
      for (int step = 1; step <= 4; ++step) {
        const auto [out, lost] =
            balanced_step(session, world, network, integer_gradient(world, network.rank(), step), step);
        EXPECT_LT(lost, 1e-3) << workers << " workers, " << teams << " teams, step " << step;
        EXPECT_LE(out.count_nonzero().item<std::int64_t>(), blocks * kept);
        EXPECT_GT(out.count_nonzero().item<std::int64_t>(), 0);
      }
    });
  }
}

TEST(SparDL, EveryTeamHasTheSameBits) {
  const World world = make_world(301, false);
  for (const auto& [workers, teams] : all_teams()) {
    run_in_process(workers, [&, workers = workers, teams = teams](Collective& network) {
      Session session(spardl(0.1, teams), world, network);
      for (int step = 1; step <= 3; ++step) {
        const torch::Tensor out = session.step(real_gradient(world, network.rank(), step), step);
        torch::Tensor first = out.clone();
        network.broadcast(first, 0);
        EXPECT_TRUE(out.equal(first)) << workers << " workers, " << teams << " teams, step " << step;
      }
    });
  }
}

// Runs steps on `workers` threads, and calls `check` with the bytes that a worker sent and claimed to send.
void meter_steps(int workers, const Json& method, const World& world, int steps,
                 const std::function<torch::Tensor(int rank, int step)>& gradient,
                 const std::function<void(int step, double sent, double claimed)>& check) {
  run_in_process(workers, [&](Collective& network) {
    MeteredCollective metered(std::make_unique<Borrowed>(network));
    Session session(method, world, metered);
    for (int step = 1; step <= steps; ++step) {
      const double claimed = session.method().traffic(world.bucket, workers).sent_bytes;
      metered.begin_section();
      session.step(gradient(network.rank(), step), static_cast<std::uint64_t>(step));
      check(step, metered.end_section().sent_bytes, claimed);
    }
  });
}

TEST(SparDL, SendsTheBytesThatItClaims) {
  const World world = make_world(301, false);
  for (const auto& [workers, teams] : all_teams()) {
    for (const char* const indices : {"u32", "u16"}) {
      Json method = spardl(0.1, teams);
      method["indices"] = indices;
      meter_steps(
          workers, method, world, 3, [&](int rank, int step) { return real_gradient(world, rank, step); },
          [&](int step, double sent, double claimed) {
            EXPECT_DOUBLE_EQ(sent, claimed)
                << indices << ", " << workers << " workers, " << teams << " teams, step " << step;
          });
    }
  }
}

// Blocks of 150001 / 2 elements have two parts each.
TEST(SparDL, ShortIndicesChangeTheMessagesOnly) {
  const World world = make_world(150'001, false);
  for (const auto& [workers, teams] : {std::pair{2, 1}, {4, 2}, {6, 3}}) {
    run_in_process(workers, [&, teams = teams](Collective& network) {
      Json method = spardl(0.01, teams);
      Session plain(method, world, network);
      method["indices"] = "u16";
      Session brief(method, world, network);
      for (int step = 1; step <= 3; ++step) {
        const torch::Tensor gradient = real_gradient(world, network.rank(), step);
        EXPECT_TRUE(plain.step(gradient, step).equal(brief.step(gradient, step)))
            << teams << " teams, step " << step;
      }
    });
  }
}

// Three teams of one worker, 300 entries of which 30 are kept. The offers of gradients that have their largest
// entries at different places shrink to a third of k, those of equal gradients stay at k.
TEST(SparDL, OffersFollowTheNumberOfMergedEntries) {
  const World world = make_world(300, false);
  const auto offers = [&](bool overlap) {
    std::mutex mutex;
    std::vector<double> sent_bytes(4);
    meter_steps(
        3, spardl(0.1, 3), world, 4,
        [&](int rank, int /*step*/) {
          return torch::arange(300).add(overlap ? 0 : 100 * rank).remainder(300).to(torch::kFloat);
        },
        [&](int step, double sent, double /*claimed*/) {
          const std::lock_guard lock(mutex);
          sent_bytes[static_cast<std::size_t>(step - 1)] = sent;
        });
    return sent_bytes;
  };
  const double whole = 2 * 30 * 8;  // to two other teams
  EXPECT_EQ(offers(true), (std::vector<double>{whole, whole, whole, whole}));
  EXPECT_EQ(offers(false).front(), whole);
  EXPECT_EQ(offers(false).back(), whole / 3);
}

TEST(SparDL, NeedsTeamsOfEqualSize) {
  const World world = make_world(10, false);
  EXPECT_THROW(run_in_process(3,
                              [&](Collective& network) {
                                Session session(spardl(0.1, 2), world, network);
                                session.step(torch::ones({10}), 1);
                              }),
               Error);
  EXPECT_EQ(SynchroniserRegistry::instance().make(spardl(0.1, 2), {"test", ""}, {})->workers_multiple_of(),
            2);
}

}  // namespace
}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// PacTrain with the pattern that pruning declares: packed steps, escapes, counters.
#include "trainer/synchronisers/methods/tests/pactrain.hh"

#include <gtest/gtest.h>

#include "trainer/collectives/metered.hh"
#include "trainer/collectives/tests/world.hh"

namespace thinpipe::trainer {
namespace {

using testing::counters;
using testing::exact_mean;
using testing::integer_gradient;
using testing::make_world;
using testing::pactrain;
using trainer::testing::Session;
using trainer::testing::World;

TEST(PacTrain, PT1_PackedIsBitForBitDenseOfTheMaskedGradient) {
  // In process, sums are in rank order at any position, so equality holds for any floats.
  for (const int world_size : {1, 2, 3, 7, 8}) {
    for (const std::int64_t n : {3, 4, 9, 257, 5003}) {
      const World world = make_world(n, true);
      run_in_process(world_size, [&](Collective& network) {
        std::vector<float> uniform(static_cast<std::size_t>(n));
        fill_uniform({.seed = 3, .rank = static_cast<std::uint32_t>(network.rank())}, uniform);
        torch::Tensor gradient = torch::tensor(uniform).sub(0.5);
        gradient.narrow(0, 0, world.kept[0].numel()).masked_fill_(world.kept[0].logical_not(), 0);
        Session packed(pactrain(), world, network);
        Session dense({{"name", "dense"}}, world, network);
        EXPECT_TRUE(torch::equal(packed.step(gradient, 1), dense.step(gradient, 1)))
            << n << " entries, " << world_size << " workers";
        EXPECT_EQ(packed.method().state(), counters(0, 1, 0));
      });
    }
  }
}

TEST(PacTrain, PT1_OverANetworkPackedIsDenseWhereSumsAreExact) {
  const World world = make_world(1025, true);
  testing::run_over_network("gloo", 4, [&](Collective& network) {
    Session packed(pactrain(), world, network);
    Session dense({{"name", "dense"}}, world, network);
    const torch::Tensor gradient = integer_gradient(world, network.rank(), 1);
    EXPECT_TRUE(torch::equal(packed.step(gradient, 1), dense.step(gradient, 1)));
  });
}

TEST(PacTrain, PT5_FallsBackOnEveryWorkerWhenAnEntryEscapesTheMaskOnOne) {
  for (const std::string values : {"float32", "ternary"}) {
    const World world = make_world(64, true);
    run_in_process(4, [&](Collective& network) {
      Session session({{"name", "pactrain"}, {"values", values}}, world, network);
      torch::Tensor gradient = integer_gradient(world, network.rank(), 1);
      torch::Tensor expected = exact_mean(world, 4, 1);
      expected[1] = 1;  // index 1 is pruned
      if (network.rank() == 2) gradient[1] = 4;
      const torch::Tensor out = session.step(gradient, 1);
      EXPECT_TRUE(torch::equal(out.to(torch::kDouble), expected)) << values;
    });
  }
}

TEST(PacTrain, PacksAgainInTheStepAfterAnEscape) {
  const World world = make_world(64, true);
  run_in_process(2, [&](Collective& network) {
    MeteredCollective metered(std::make_unique<Borrowed>(network));
    Session session({{"name", "pactrain"}}, world, metered);
    session.step(torch::ones({64}), 1);
    metered.begin_section();
    session.step(integer_gradient(world, network.rank(), 2), 2);
    EXPECT_EQ(metered.end_section().payload_bytes, 4 * (16 + 32 + 1));
  });
}

TEST(PacTrain, DoesNotPackAMaskWithoutZeros) {
  const World world = make_world(64, false);
  run_in_process(2, [&](Collective& network) {
    Session session({{"name", "pactrain"}}, world, network);
    EXPECT_EQ(session.method().traffic(world.bucket, 2).payload_bytes, 4 * 64);
    EXPECT_TRUE(torch::equal(session.step(torch::ones({64}), 1), torch::ones({64})));
  });
}

TEST(PacTrain, APatternOfNothingStillCarriesTheFlag) {
  World world = make_world(6, false);
  world.kept = {torch::zeros({3}, torch::kBool), torch::zeros({3}, torch::kBool)};
  for (const std::string values : {"float32", "ternary"}) {
    run_in_process(3, [&](Collective& network) {
      MeteredCollective metered(std::make_unique<Borrowed>(network));
      Session session(pactrain({{"values", values}}), world, metered);
      metered.begin_section();
      EXPECT_TRUE(session.step(torch::zeros({6}), 1).eq(0).all().item<bool>());
      EXPECT_EQ(metered.end_section().payload_bytes, values == "float32" ? 4 : 1 + 2 * 4);
      torch::Tensor escaped = torch::zeros({6});
      if (network.rank() == 1) escaped[5] = 3;
      EXPECT_EQ(session.step(escaped, 2)[5].item<float>(), 1);
      EXPECT_EQ(session.method().state(), counters(1, 1, 1));
    });
  }
}

TEST(PacTrain, ReportsWhatItDidOfAppliedStepsOnly) {
  const World world = make_world(64, true);
  run_in_process(2, [&](Collective& network) {
    Session session(pactrain(), world, network);
    EXPECT_EQ(session.method().state(), counters(0, 0, 0));
    session.step(integer_gradient(world, network.rank(), 1), 1);
    session.step(torch::ones({64}), 2);
    session.step(integer_gradient(world, network.rank(), 3), 3, false);
    session.step(integer_gradient(world, network.rank(), 4), 4);
    EXPECT_EQ(session.method().state(), counters(1, 2, 1));
  });
}

TEST(PacTrain, PacksByTheMaskItIsGivenLater) {
  const World world = make_world(64, false);
  run_in_process(2, [&](Collective& network) {
    Session session(pactrain(), world, network);
    EXPECT_EQ(session.method().traffic(world.bucket, 2).payload_bytes, 4 * 64);
    torch::Tensor kept = torch::zeros({32}, torch::kBool);
    kept[5] = true;
    session.method().adopt_masks({kept, torch::Tensor()});
    session.method().prepare({world.bucket});
    EXPECT_EQ(session.method().traffic(world.bucket, 2).payload_bytes, 4 * (1 + 32 + 1));
    torch::Tensor gradient = torch::ones({64});
    gradient.narrow(0, 0, 32).masked_fill_(kept.logical_not(), 0);
    EXPECT_TRUE(torch::equal(session.step(gradient, 1), gradient));
    EXPECT_EQ(session.method().state(), counters(0, 1, 0));
  });
}

}  // namespace
}  // namespace thinpipe::trainer

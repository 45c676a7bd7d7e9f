// SPDX-License-Identifier: Apache-2.0
// PacTrain with patterns observed in reduced gradients, in float32 and ternary.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/collectives/metered.hh"
#include "trainer/collectives/replica_check.hh"
#include "trainer/collectives/tests/world.hh"
#include "trainer/synchronisers/methods/tests/pactrain.hh"

namespace thinpipe::trainer {
namespace {

using testing::counters;
using testing::make_world;
using testing::mean_over;
using testing::pactrain;
using ::testing::ThrowsMessage;
using trainer::testing::Session;
using trainer::testing::World;

Json observed(std::int64_t stable_iterations, Json options = Json::object()) {
  options["source"] = "observed";
  options["stable_iterations"] = stable_iterations;
  return pactrain(options);
}

// Positive integers at all kept entries: no sum over workers is zero.
torch::Tensor positive_gradient(const World& world, int rank, int step) {
  const std::int64_t n = world.bucket.size;
  torch::Tensor gradient =
      (torch::arange(n) * 7 + step * 3 + rank * 5).remainder(8).add(1).to(torch::kFloat32);
  if (world.kept[0].defined()) {
    gradient.narrow(0, 0, world.kept[0].numel()).masked_fill_(world.kept[0].logical_not(), 0);
  }
  return gradient;
}

class ObservedPattern : public ::testing::TestWithParam<std::string> {
 protected:
  Json method(std::int64_t stable_iterations, Json options = Json::object()) const {
    if (GetParam() == "feedback") options["error_feedback"] = true;
    options["values"] = GetParam() == "float32" ? "float32" : "ternary";
    return observed(stable_iterations, options);
  }
};

TEST_P(ObservedPattern, SendsWhatItClaimsInEveryPhase) {
  const World world = make_world(64, true);  // 16 + 32 kept
  const std::int64_t packed = GetParam() == "float32" ? 4 * 49 : 49 + 2 * 4;
  const std::vector<std::int64_t> expected = {256, 256, 256, 8 + packed, packed, packed, packed + 256};
  const std::vector<std::int64_t> at_most = {256,          256,          256,         8 + packed + 256,
                                             packed + 256, packed + 256, packed + 256};
  run_in_process(3, [&](Collective& network) {
    MeteredCollective metered(std::make_unique<Borrowed>(network));
    Session session(method(2), world, metered);
    EXPECT_TRUE(session.method().properties().traffic_depends_on_data);
    EXPECT_EQ(session.method().steady_state_traffic(world.bucket, 3).payload_bytes,
              static_cast<double>(packed));
    for (std::size_t step = 0; step < expected.size(); ++step) {
      const ExpectedTraffic claimed = session.method().traffic(world.bucket, 3);
      torch::Tensor gradient = positive_gradient(world, network.rank(), static_cast<int>(step));
      if (step + 1 == expected.size() && network.rank() == 1) gradient[1] = 1;  // escapes
      metered.begin_section();
      session.step(gradient, step + 1);
      const Section section = metered.end_section();
      EXPECT_EQ(section.payload_bytes, expected[step]) << "step " << step;
      EXPECT_EQ(claimed.payload_bytes, static_cast<double>(at_most[step])) << "step " << step;
      EXPECT_LE(section.sent_bytes, claimed.sent_bytes * (1 + 1e-6)) << "step " << step;
    }
    EXPECT_EQ(session.method().state(), counters(4, 3, 1));
  });
}

TEST_P(ObservedPattern, PT5_AnEscapeOnOneRankSendsAllBackToFullInTheSameStep) {
  const World world = make_world(64, true);
  run_in_process(4, [&](Collective& network) {
    MeteredCollective metered(std::make_unique<Borrowed>(network));
    Session session(method(1), world, metered);
    const auto gradient = [&](int step) { return positive_gradient(world, network.rank(), step); };
    session.step(gradient(1), 1);
    session.step(gradient(2), 2);  // packed from the next step on
    torch::Tensor escaping = gradient(3);
    if (network.rank() == 2) escaping[1] = 4;  // index 1 is pruned
    const torch::Tensor out = session.step(escaping, 3);
    EXPECT_TRUE(torch::equal(out, mean_over(network, escaping)));
    EXPECT_EQ(session.method().state(), counters(3, 0, 1));
    // The bucket is sent in full until the pattern is confirmed again; the pattern now contains the escaped
    // entry.
    metered.begin_section();
    EXPECT_TRUE(torch::equal(session.step(gradient(4), 4), mean_over(network, gradient(4))));
    EXPECT_EQ(metered.end_section().payload_bytes, 256);
    EXPECT_EQ(session.method().traffic(world.bucket, 4).payload_bytes,
              256 + 8 + (GetParam() == "float32" ? 4 * 50 : 50 + 8));
  });
}

TEST_P(ObservedPattern, AStepThatIsSkippedLeavesEverythingAsItWas) {
  const World world = make_world(64, true);
  run_in_process(2, [&](Collective& network) {
    Session poisoned(method(2), world, network);
    Session clean(method(2), world, network);
    const auto gradient = [&](int step) { return positive_gradient(world, network.rank(), step); };
    for (int step = 1; step <= 6; ++step) {
      // Before each step: a NaN on one rank, inside or outside the pattern, or an escape in a step that fails
      // on another rank.
      for (const int entry : {0, 1}) {
        torch::Tensor bad = gradient(step);
        if (network.rank() == 1) bad[entry] = std::nanf("");
        EXPECT_FALSE(poisoned.step(bad, step, false).isfinite().all().item<bool>());
      }
      poisoned.step(torch::ones({64}), step, false);
      EXPECT_EQ(poisoned.method().traffic(world.bucket, 2).payload_bytes,
                clean.method().traffic(world.bucket, 2).payload_bytes);
      EXPECT_TRUE(torch::equal(poisoned.step(gradient(step), step), clean.step(gradient(step), step)));
      EXPECT_EQ(poisoned.method().state(), clean.method().state());
    }
    EXPECT_EQ(clean.method().state(), counters(3, 3, 0));
  });
}

TEST_P(ObservedPattern, GoesOnFromACheckpointOfAnyStep) {
  const World world = make_world(50, true);
  run_in_process(2, [&](Collective& network) {
    const auto gradient = [&](int step) {
      torch::Tensor out = positive_gradient(world, network.rank(), step);
      if (step == 6 && network.rank() == 0) out[1] = 1;  // escapes
      return out;
    };
    for (int saved_after = 0; saved_after <= 8; ++saved_after) {
      Session whole(method(2), world, network);
      for (int step = 1; step <= saved_after; ++step) whole.step(gradient(step), step);
      TensorMap state;
      whole.method().save(state, "s.");
      Session resumed(method(2), world, network);
      resumed.method().load(state, "s.");
      for (int step = saved_after + 1; step <= 10; ++step) {
        EXPECT_EQ(whole.method().traffic(world.bucket, 2).payload_bytes,
                  resumed.method().traffic(world.bucket, 2).payload_bytes);
        EXPECT_TRUE(torch::equal(whole.step(gradient(step), step), resumed.step(gradient(step), step)))
            << "saved after " << saved_after << ", step " << step;
      }
      EXPECT_EQ(whole.method().state(), counters(6, 4, 1));
      EXPECT_EQ(resumed.method().state(), counters(6, 4, 1));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, ObservedPattern, ::testing::Values("float32", "ternary", "feedback"),
                         [](const auto& test) { return test.param; });

TEST(PacTrainObserved, PT6_ChannelsDeadOnSomeRanksOnlyNeitherHangNorLoseAnything) {
  // Channels of 4 entries. Each rank has its own dead channels, two are dead everywhere, and one of these
  // revives for a step.
  constexpr int kChannels = 16;
  const World world = make_world(4 * kChannels, false);
  for (const std::string rule : {"union", "exact"}) {
    for (const int world_size : {2, 3, 8}) {
      run_in_process(world_size, [&](Collective& network) {
        Session session(observed(2, {{"rule", rule}}), world, network);
        Session dense({{"name", "dense"}}, world, network);
        for (int step = 1; step <= 20; ++step) {
          torch::Tensor gradient = positive_gradient(world, network.rank(), step);
          for (int channel = 0; channel < kChannels; ++channel) {
            const bool dead_here = channel % world_size == network.rank();
            const bool dead_everywhere = channel == 5 || channel == 9;
            const bool revives = channel == 5 && step == 12 && network.rank() == world_size - 1;
            if ((dead_here || dead_everywhere) && !revives) gradient.narrow(0, 4 * channel, 4).zero_();
          }
          EXPECT_TRUE(torch::equal(session.step(gradient, step), dense.step(gradient, step)))
              << rule << ", " << world_size << " workers, step " << step;
        }
        // Steps 1 to 3 are sent in full, 4 to 11 packed, and 12, with the escape, in full. union: 13 and 14
        // confirm it, and it is packed from 15 on. exact: 13 differs from 12, 14 and 15 confirm it, and it is
        // packed from 16 on.
        EXPECT_EQ(session.method().state(), rule == "union" ? counters(6, 14, 1) : counters(7, 13, 1));
      });
    }
  }
}

TEST(PacTrainObserved, PT9_GivesWhatDeclaredGivesOnceThePatternIsStable) {
  const World world = make_world(301, true);
  for (const std::string values : {"float32", "ternary"}) {
    run_in_process(3, [&](Collective& network) {
      Session by_mask(pactrain({{"values", values}}), world, network);
      Session by_observation(observed(3, {{"values", values}}), world, network);
      for (int step = 1; step <= 10; ++step) {
        const torch::Tensor gradient = positive_gradient(world, network.rank(), step);
        const bool equal = torch::equal(by_mask.step(gradient, step), by_observation.step(gradient, step));
        if (values == "float32" || step > 4) {
          EXPECT_TRUE(equal) << values << ", step " << step;
        }
      }
      EXPECT_EQ(by_observation.method().state(), counters(4, 6, 0));
      EXPECT_EQ(by_observation.method().traffic(world.bucket, 3).payload_bytes,
                by_mask.method().traffic(world.bucket, 3).payload_bytes + 4 * 301)
          << "an entry may escape";
    });
  }
}

TEST(PacTrainObserved, StopsAllWorkersWhenTheirPatternsDiffer) {
  const World world = make_world(64, true);
  run_in_process(3, [&](Collective& network) {
    Session session(observed(1), world, network);
    for (int step = 1; step <= 2; ++step) session.step(positive_gradient(world, network.rank(), step), step);
    TensorMap state;
    session.method().save(state, "s.");
    if (network.rank() == 1) state.at("s.pattern.a")[2] = false;
    session.method().load(state, "s.");
    EXPECT_THAT([&] { session.step(positive_gradient(world, network.rank(), 3), 3); },
                ThrowsMessage<DivergenceError>("the pattern of bucket 0 of rank 1 differs from rank 0's"));
  });
}

TEST(PacTrainObserved, BeginsAnewWithEveryLayout) {
  const World world = make_world(64, true);
  run_in_process(2, [&](Collective& network) {
    Session session(observed(1), world, network);
    for (int step = 1; step <= 3; ++step) session.step(positive_gradient(world, network.rank(), step), step);
    EXPECT_EQ(session.method().traffic(world.bucket, 2).payload_bytes, 4 * 49 + 256);
    session.method().prepare({world.bucket});
    EXPECT_EQ(session.method().traffic(world.bucket, 2).payload_bytes, 4 * 64);
    session.step(positive_gradient(world, network.rank(), 4), 4);
    EXPECT_EQ(session.method().state(), counters(3, 1, 0)) << "the counters continue";
  });
}

TEST(PacTrainObserved, ReadsACheckpointIntoAnotherLayout) {
  const World world = make_world(64, true);
  Bucket first{.index = 0, .size = 32, .slices = {{.parameter = 1, .offset = 0, .size = 32}}};
  Bucket second{.index = 1, .size = 32, .slices = {{.parameter = 0, .offset = 0, .size = 32}}};
  run_in_process(2, [&](Collective& network) {
    Session session(observed(1), world, network);
    for (int step = 1; step <= 3; ++step) session.step(positive_gradient(world, network.rank(), step), step);
    TensorMap state;
    session.method().save(state, "s.");
    Session apart(observed(1), world, network);
    apart.method().prepare({first, second});
    apart.method().load(state, "s.");
    EXPECT_EQ(apart.method().traffic(first, 2).payload_bytes, 4 * 32) << "its pattern has all entries";
    EXPECT_EQ(apart.method().traffic(second, 2).payload_bytes, 4 * 17 + 4 * 32);
    // One bucket of both parameters again; one of them has fallen back.
    TensorMap mixed;
    apart.method().save(mixed, "s.");
    mixed.at("s.phases")[1][0] = 0;
    Session together(observed(1), world, network);
    together.method().load(mixed, "s.");
    EXPECT_EQ(together.method().traffic(world.bucket, 2).payload_bytes, 4 * 64);
  });
}

}  // namespace
}  // namespace thinpipe::trainer

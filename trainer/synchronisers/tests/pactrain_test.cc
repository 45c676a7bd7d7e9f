// PacTrain: what its packed exchange promises, with the pattern declared or observed, in float32 and ternary.
#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/agreement.hh"
#include "trainer/collectives/metered.hh"
#include "trainer/collectives/tests/world.hh"
#include "trainer/synchronisers/tests/session.hh"

namespace thinpipe::trainer {
namespace {

using testing::exact_mean;
using ::testing::HasSubstr;
using testing::integer_gradient;
using testing::make_world;
using ::testing::ThrowsMessage;
using trainer::testing::Borrowed;
using trainer::testing::Session;
using trainer::testing::World;

Json pactrain(Json options = Json::object()) {
  options["name"] = "pactrain";
  return options;
}

Json observed(std::int64_t stable_iterations, Json options = Json::object()) {
  options["source"] = "observed";
  options["stable_iterations"] = stable_iterations;
  return pactrain(options);
}

// Positive integers wherever the mask keeps: whatever kept entries the workers add up, no sum is zero.
torch::Tensor positive_gradient(const World& world, int rank, int step) {
  const std::int64_t n = world.bucket.size;
  torch::Tensor gradient =
      (torch::arange(n) * 7 + step * 3 + rank * 5).remainder(8).add(1).to(torch::kFloat32);
  if (world.kept[0].defined()) {
    gradient.narrow(0, 0, world.kept[0].numel()).masked_fill_(world.kept[0].logical_not(), 0);
  }
  return gradient;
}

torch::Tensor mean_over(Collective& network, const torch::Tensor& gradient) {
  torch::Tensor mean = gradient.div(network.world_size());
  network.all_reduce(mean, Reduction::sum);
  return mean;
}

Json counters(std::int64_t full, std::int64_t packed, std::int64_t escapes) {
  return {{"full_steps", full}, {"packed_steps", packed}, {"escapes", escapes}};
}

TEST(PacTrain, PT1_PackedIsBitForBitDenseOfTheMaskedGradient) {
  // In process, sums run over ranks in order, wherever an entry stands: equality holds for any floats.
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
  testing::run_gloo(4, [&](Collective& network) {
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

TEST(PacTrainTernary, PT8_IsUnbiasedAndItsCodesAreWhole) {
  // Eight values, four of each layer, each at 100 places of its layer: 100 steps make 10000 draws.
  constexpr int kPlaces = 100;
  constexpr int kSteps = 100;
  const World few = make_world(8, true);
  const World world = make_world(8 * kPlaces, true);
  const auto everywhere = [](const torch::Tensor& eight) {
    return eight.view({2, 1, 4}).expand({2, kPlaces, 4}).reshape({-1});
  };
  run_in_process(3, [&](Collective& network) {
    Session session(pactrain({{"values", "ternary"}}), world, network);
    const torch::Tensor gradient = integer_gradient(few, network.rank(), 1);
    // s per layer: the largest magnitude over all workers.
    torch::Tensor scale = gradient.abs();
    network.all_reduce(scale, Reduction::max);
    scale = scale.view({2, 4}).amax(1, true).expand({2, 4}).reshape({8});
    torch::Tensor sum = torch::zeros({8}, torch::kDouble);
    for (int step = 1; step <= kSteps; ++step) {
      const torch::Tensor out = session.step(everywhere(gradient), step);
      ASSERT_TRUE(testing::identical_on_all(network, out));
      const torch::Tensor codes = out * 3 / everywhere(scale);
      ASSERT_LE((codes - codes.round()).abs().max().item<double>(), 1e-5);
      ASSERT_LE(codes.abs().max().item<double>(), 3 + 1e-5);
      sum += out.view({2, kPlaces, 4}).to(torch::kDouble).sum(1).view({8});
    }
    // Per worker Var = |q|(s - |q|) <= s^2/4, so the mean over workers and draws deviates by less than this.
    const torch::Tensor bound = 5 * (scale.to(torch::kDouble).square() / 4 / 3 / (kPlaces * kSteps)).sqrt();
    EXPECT_TRUE(((sum / (kPlaces * kSteps) - exact_mean(few, 3, 1)).abs() <= bound).all().item<bool>());
  });
}

TEST(PacTrainTernary, TheSameSeedGivesTheSameBits) {
  const World world = make_world(100, true);
  run_in_process(2, [&](Collective& network) {
    const Json options = {{"name", "pactrain"}, {"values", "ternary"}};
    Session first(options, world, network);
    Session second(options, world, network);
    const torch::Tensor gradient = integer_gradient(world, network.rank(), 1);
    const torch::Tensor out = first.step(gradient, 7);
    EXPECT_TRUE(torch::equal(out, second.step(gradient, 7)));
    EXPECT_FALSE(torch::equal(out, second.step(gradient, 8)));
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

// Observed patterns.

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
  const std::vector<std::int64_t> expected = {256, 256, 256, 8 + packed, packed, packed};
  run_in_process(3, [&](Collective& network) {
    MeteredCollective metered(std::make_unique<Borrowed>(network));
    Session session(method(2), world, metered);
    EXPECT_EQ(session.method().settled_traffic(world.bucket, 3).payload_bytes, static_cast<double>(packed));
    for (std::size_t step = 0; step < expected.size(); ++step) {
      const ExpectedTraffic claimed = session.method().traffic(world.bucket, 3);
      metered.begin_section();
      session.step(positive_gradient(world, network.rank(), static_cast<int>(step)), step + 1);
      const Section section = metered.end_section();
      EXPECT_EQ(section.payload_bytes, expected[step]) << "step " << step;
      EXPECT_EQ(claimed.payload_bytes, static_cast<double>(expected[step])) << "step " << step;
      EXPECT_NEAR(section.sent_bytes, claimed.sent_bytes, 1e-6 * claimed.sent_bytes) << "step " << step;
    }
    EXPECT_EQ(session.method().state(), counters(3, 3, 0));
  });
}

TEST_P(ObservedPattern, PT5_AnEscapeOnOneRankSendsAllBackToFullInTheSameStep) {
  const World world = make_world(64, true);
  run_in_process(4, [&](Collective& network) {
    MeteredCollective metered(std::make_unique<Borrowed>(network));
    Session session(method(1), world, metered);
    const auto gradient = [&](int step) { return positive_gradient(world, network.rank(), step); };
    session.step(gradient(1), 1);
    session.step(gradient(2), 2);  // from now on packed
    torch::Tensor escaping = gradient(3);
    if (network.rank() == 2) escaping[1] = 4;  // index 1 is pruned
    const torch::Tensor out = session.step(escaping, 3);
    EXPECT_TRUE(torch::equal(out, mean_over(network, escaping)));
    EXPECT_EQ(session.method().state(), counters(3, 0, 1));
    // In full again, until the pattern has been confirmed anew; it now holds what escaped.
    metered.begin_section();
    EXPECT_TRUE(torch::equal(session.step(gradient(4), 4), mean_over(network, gradient(4))));
    EXPECT_EQ(metered.end_section().payload_bytes, 256);
    EXPECT_EQ(session.method().traffic(world.bucket, 4).payload_bytes,
              8 + (GetParam() == "float32" ? 4 * 50 : 50 + 8));
  });
}

TEST_P(ObservedPattern, AStepThatIsSkippedLeavesEverythingAsItWas) {
  const World world = make_world(64, true);
  run_in_process(2, [&](Collective& network) {
    Session poisoned(method(2), world, network);
    Session clean(method(2), world, network);
    const auto gradient = [&](int step) { return positive_gradient(world, network.rank(), step); };
    for (int step = 1; step <= 6; ++step) {
      // Before each: a NaN on one rank, inside the pattern or outside it, or an escape in a step that fails
      // elsewhere.
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
  // Channels of 4 entries; each rank has its own dead ones, two are dead everywhere, and one of these revives
  // for a step.
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
        // Full 1 to 3, packed 4 to 11, the escape of 12 in full. union: 13 and 14 confirm it, packed from 15
        // on. exact: 13 differs from 12, 14 and 15 confirm it, packed from 16 on.
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
                by_mask.method().traffic(world.bucket, 3).payload_bytes);
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
    EXPECT_EQ(session.method().traffic(world.bucket, 2).payload_bytes, 4 * 49);
    session.method().prepare({world.bucket});
    EXPECT_EQ(session.method().traffic(world.bucket, 2).payload_bytes, 4 * 64);
    session.step(positive_gradient(world, network.rank(), 4), 4);
    EXPECT_EQ(session.method().state(), counters(3, 1, 0)) << "the counters go on";
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
    EXPECT_EQ(apart.method().traffic(first, 2).payload_bytes, 4 * 32) << "its pattern is whole";
    EXPECT_EQ(apart.method().traffic(second, 2).payload_bytes, 4 * 17);
    // One bucket of both again, of which one parameter has fallen back.
    TensorMap mixed;
    apart.method().save(mixed, "s.");
    mixed.at("s.phases")[1][0] = 0;
    Session together(observed(1), world, network);
    together.method().load(mixed, "s.");
    EXPECT_EQ(together.method().traffic(world.bucket, 2).payload_bytes, 4 * 64);
  });
}

// Error feedback.

const Json feedback = {{"name", "pactrain"}, {"values", "ternary"}, {"error_feedback", true}};

TEST(PacTrainFeedback, HoldsBackWhatTheCodesDoNotSay) {
  World world = make_world(4, false);
  world.kept[0] = torch::tensor({true, false});
  run_in_process(1, [&](Collective& network) {
    Session session(feedback, world, network);
    // Layer a: 8 is the scale. Layer b: the scale is 4, of which 2 is half and 1 less.
    EXPECT_TRUE(torch::equal(session.step(torch::tensor({8.0F, 0.0F, 4.0F, 1.0F}), 1),
                             torch::tensor({8.0F, 0.0F, 4.0F, 0.0F})));
    // e = (0, -, 0, 1); q = (-3, -, 6, 2): 2 is less than half of 6.
    EXPECT_TRUE(torch::equal(session.step(torch::tensor({-3.0F, 0.0F, 6.0F, 1.0F}), 2),
                             torch::tensor({-3.0F, 0.0F, 6.0F, 0.0F})));
    // e = (0, -, 0, 2); q = (0, -, -4, 3): both go, and 3 - 4 is held back.
    EXPECT_TRUE(torch::equal(session.step(torch::tensor({0.0F, 0.0F, -4.0F, 1.0F}), 3),
                             torch::tensor({0.0F, 0.0F, -4.0F, 4.0F})));
    TensorMap state;
    session.method().save(state, "s.");
    EXPECT_TRUE(state.at("s.residual.b").equal(torch::tensor({0.0F, -1.0F})));
  });
}

TEST(PacTrainFeedback, TheSumOfResultsStaysWithinOneGradientOfTheSumOfMeans) {
  const World world = make_world(300, true);
  constexpr int kSteps = 200;
  run_in_process(3, [&](Collective& network) {
    Session session(feedback, world, network);
    torch::Tensor results = torch::zeros({300}, torch::kDouble);
    torch::Tensor means = torch::zeros({300}, torch::kDouble);
    torch::Tensor held_back;
    for (int step = 1; step <= kSteps; ++step) {
      const torch::Tensor out = session.step(integer_gradient(world, network.rank(), step), step);
      EXPECT_TRUE(step > 5 || testing::identical_on_all(network, out));
      results += out.to(torch::kDouble);
      means += exact_mean(world, 3, step);
    }
    // |g| <= 8 on every worker and step bounds every residual; without feedback the difference would go with
    // the root of the number of steps, to several times as much.
    EXPECT_LE((results - means).abs().max().item<double>(), 8 + 1e-3);
    // And it is exactly what is held back.
    TensorMap state;
    session.method().save(state, "s.");
    held_back = torch::cat({state.at("s.residual.a"), state.at("s.residual.b")});
    EXPECT_LE(held_back.abs().max().item<double>(), 8 + 1e-4);
    EXPECT_LE((results + mean_over(network, held_back) - means).abs().max().item<double>(), 1e-3);
    EXPECT_TRUE(
        held_back.narrow(0, 0, 150).masked_select(world.kept[0].logical_not()).eq(0).all().item<bool>());
  });
}

TEST(PacTrainFeedback, WithoutItTheSumStraysFurther) {
  // Shows that the bound above can fail.
  const World world = make_world(300, true);
  run_in_process(3, [&](Collective& network) {
    Session session(pactrain({{"values", "ternary"}}), world, network);
    torch::Tensor difference = torch::zeros({300}, torch::kDouble);
    for (int step = 1; step <= 200; ++step) {
      difference += session.step(integer_gradient(world, network.rank(), step), step).to(torch::kDouble);
      difference -= exact_mean(world, 3, step);
    }
    EXPECT_GT(difference.abs().max().item<double>(), 8);
  });
}

TEST(PacTrainFeedback, AFullExchangeTakesAlongWhatWasHeldBack) {
  const World world = make_world(4, true);  // a: entry 1 is pruned
  run_in_process(2, [&](Collective& network) {
    Session session(feedback, world, network);
    session.step(torch::tensor({8.0F, 0.0F, 8.0F, 3.0F}), 1);  // holds back the 3
    EXPECT_TRUE(torch::equal(session.step(torch::tensor({1.0F, 5.0F, 1.0F, 1.0F}), 2),
                             torch::tensor({1.0F, 5.0F, 1.0F, 4.0F})));
    EXPECT_TRUE(session.step(torch::zeros({4}), 3).eq(0).all().item<bool>()) << "nothing is left";
    EXPECT_EQ(session.method().state(), counters(1, 2, 1));
  });
}

TEST(PacTrainFeedback, ForgetsWhatItHeldBackOfWeightsThatArePruned) {
  const World world = make_world(4, true);
  run_in_process(1, [&](Collective& network) {
    Session session(feedback, world, network);
    session.step(torch::tensor({8.0F, 0.0F, 8.0F, 3.0F}), 1);  // holds back the 3
    session.method().adopt_masks({world.kept[0], torch::tensor({true, false})});
    session.method().prepare({world.bucket});
    EXPECT_TRUE(session.step(torch::zeros({4}), 2).eq(0).all().item<bool>());
    EXPECT_EQ(session.method().state(), counters(0, 2, 0));
  });
}

TEST(PacTrainFeedback, GoesOnFromACheckpoint) {
  const World world = make_world(100, true);
  run_in_process(2, [&](Collective& network) {
    Session whole(feedback, world, network);
    for (int step = 1; step <= 3; ++step) whole.step(integer_gradient(world, network.rank(), step), step);
    TensorMap state;
    whole.method().save(state, "s.");
    Session resumed(feedback, world, network);
    resumed.method().load(state, "s.");
    Session fresh(feedback, world, network);
    const torch::Tensor gradient = integer_gradient(world, network.rank(), 4);
    const torch::Tensor out = whole.step(gradient, 4);
    EXPECT_TRUE(torch::equal(out, resumed.step(gradient, 4)));
    EXPECT_FALSE(torch::equal(out, fresh.step(gradient, 4))) << "the state matters";
  });
}

}  // namespace
}  // namespace thinpipe::trainer

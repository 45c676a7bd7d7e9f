// SPDX-License-Identifier: Apache-2.0
// PacTrain with ternary values, drawn or with error feedback.
#include <cmath>

#include <gtest/gtest.h>

#include "trainer/collectives/tests/world.hh"
#include "trainer/synchronisers/methods/tests/pactrain.hh"

namespace thinpipe::trainer {
namespace {

using testing::counters;
using testing::exact_mean;
using testing::integer_gradient;
using testing::make_world;
using testing::mean_over;
using testing::pactrain;
using trainer::testing::Session;
using trainer::testing::World;

TEST(PacTrainTernary, PT8_WithoutClippingItIsUnbiasedAndItsCodesAreWhole) {
  // Eight values, four per layer, each at 100 entries of its layer: 100 steps give 10000 draws.
  constexpr int kEntries = 100;
  constexpr int kSteps = 100;
  const World few = make_world(8, true);
  const World world = make_world(8 * kEntries, true);
  const auto everywhere = [](const torch::Tensor& eight) {
    return eight.view({2, 1, 4}).expand({2, kEntries, 4}).reshape({-1});
  };
  run_in_process(3, [&](Collective& network) {
    Session session(pactrain({{"values", "ternary"}, {"clip", 0}}), world, network);
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
      sum += out.view({2, kEntries, 4}).to(torch::kDouble).sum(1).view({8});
    }
    // Per worker Var = |q|(s - |q|) <= s^2/4, so the mean over workers and draws deviates by less than this
    // bound.
    const torch::Tensor bound = 5 * (scale.to(torch::kDouble).square() / 4 / 3 / (kEntries * kSteps)).sqrt();
    EXPECT_TRUE(((sum / (kEntries * kSteps) - exact_mean(few, 3, 1)).abs() <= bound).all().item<bool>());
  });
}

// Returns the squared error relative to the squared norm, for kept entries.
double error_on_a_gaussian(const Json& options) {
  const World world = make_world(1 << 20, true);
  torch::manual_seed(1);
  const torch::Tensor gaussian = torch::randn({world.bucket.size});
  gaussian.narrow(0, 0, world.kept[0].numel()).masked_fill_(world.kept[0].logical_not(), 0);
  double error = 0;
  run_in_process(1, [&](Collective& network) {
    Session session(pactrain(options), world, network);
    const torch::Tensor off = session.step(gaussian, 1) - gaussian;
    error = (off.square().sum() / gaussian.square().sum()).item<double>();
  });
  return error;
}

// TernGrad's published figure (terngrad_test.cc). Without clipping, the largest of half a million values is
// nearly 5.
TEST(PacTrainTernary, ErrsOnAGaussianAsTernGradDoes) {
  EXPECT_NEAR(error_on_a_gaussian({{"values", "ternary"}}), 1.0095, 0.01);
  EXPECT_GT(error_on_a_gaussian({{"values", "ternary"}, {"clip", 0}}), 2.5);
}

TEST(PacTrainTernary, ClipsEachLayerAtItsDeviationsAmongWhatIsKept) {
  const World world = make_world(200, true);  // 50 and 100 kept
  run_in_process(1, [&](Collective& network) {
    Session session(pactrain({{"values", "ternary"}, {"clip", 2}}), world, network);
    torch::Tensor gradient = torch::zeros({200});
    gradient[0] = -7;  // of 50: variance 49/50 - (7/50)² = 0.9604, deviation 0.98
    gradient[100] = 5;
    gradient[101] = -5;  // of 100: variance 0.5
    torch::Tensor expected = torch::zeros({200});
    expected[0] = -2 * 0.98;
    expected[100] = 2 * std::sqrt(0.5);
    expected[101] = -2 * std::sqrt(0.5);
    EXPECT_TRUE(torch::allclose(session.step(gradient, 1), expected));
  });
}

TEST(PacTrainTernary, IsUnbiasedOnlyWithoutClipping) {
  const auto estimate = [](const Json& options) {
    return SynchroniserRegistry::instance().make(pactrain(options), {"test", ""}, {})->properties().estimate;
  };
  EXPECT_EQ(estimate({{"values", "ternary"}}), Estimate::biased);
  EXPECT_EQ(estimate({{"values", "ternary"}, {"clip", 0}}), Estimate::unbiased);
  EXPECT_EQ(estimate({{"values", "ternary"}, {"error_feedback", true}}), Estimate::error_feedback);
  EXPECT_EQ(estimate({{"values", "float32"}}), Estimate::exact);
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

const Json feedback = {{"name", "pactrain"}, {"values", "ternary"}, {"error_feedback", true}};

TEST(PacTrainFeedback, KeepsTheCodesErrorAsResidual) {
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
    // e = (0, -, 0, 2); q = (0, -, -4, 3): both are sent, and the residual is 3 - 4.
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
    torch::Tensor residual;
    for (int step = 1; step <= kSteps; ++step) {
      const torch::Tensor out = session.step(integer_gradient(world, network.rank(), step), step);
      EXPECT_TRUE(step > 5 || testing::identical_on_all(network, out));
      results += out.to(torch::kDouble);
      means += exact_mean(world, 3, step);
    }
    // |g| <= 8 on every worker and step bounds every residual. Without feedback the difference would grow
    // with the square root of the number of steps, to several times as much.
    EXPECT_LE((results - means).abs().max().item<double>(), 8 + 1e-3);
    // It is exactly the residual.
    TensorMap state;
    session.method().save(state, "s.");
    residual = torch::cat({state.at("s.residual.a"), state.at("s.residual.b")});
    EXPECT_LE(residual.abs().max().item<double>(), 8 + 1e-4);
    EXPECT_LE((results + mean_over(network, residual) - means).abs().max().item<double>(), 1e-3);
    EXPECT_TRUE(
        residual.narrow(0, 0, 150).masked_select(world.kept[0].logical_not()).eq(0).all().item<bool>());
  });
}

TEST(PacTrainFeedback, WithoutItTheSumStraysFurther) {
  // Shows that the test above can fail.
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
    session.step(torch::tensor({8.0F, 0.0F, 8.0F, 3.0F}), 1);  // leaves a residual of 3
    EXPECT_TRUE(torch::equal(session.step(torch::tensor({1.0F, 5.0F, 1.0F, 1.0F}), 2),
                             torch::tensor({1.0F, 5.0F, 1.0F, 4.0F})));
    EXPECT_TRUE(session.step(torch::zeros({4}), 3).eq(0).all().item<bool>()) << "no residual is left";
    EXPECT_EQ(session.method().state(), counters(1, 2, 1));
  });
}

TEST(PacTrainFeedback, ForgetsWhatItHeldBackOfWeightsThatArePruned) {
  const World world = make_world(4, true);
  run_in_process(1, [&](Collective& network) {
    Session session(feedback, world, network);
    session.step(torch::tensor({8.0F, 0.0F, 8.0F, 3.0F}), 1);  // leaves a residual of 3
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

// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/commands/conformance/session.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::make_world;
using trainer::testing::real_gradient;
using trainer::testing::Session;
using trainer::testing::World;

const Json gathered = {{"name", "terngrad"}, {"exchange", "all_gather"}};
const Json reduced = {{"name", "terngrad"}, {"exchange", "all_reduce"}};

TEST(TernGrad, BothExchangesGiveTheSame) {
  for (const std::int64_t n : {1, 4, 5, 6, 7, 1025}) {
    const World world = make_world(n, true);
    run_in_process(3, [&](Collective& network) {
      Session first(gathered, world, network);
      Session second(reduced, world, network);
      for (int step = 1; step <= 3; ++step) {
        const torch::Tensor gradient = real_gradient(world, network.rank(), step);
        EXPECT_TRUE(first.step(gradient, step).equal(second.step(gradient, step))) << n;
      }
    });
  }
}

TEST(TernGrad, GivesMultiplesOfTheLargestOfAllWorkersPerLayer) {
  const World world = make_world(4, false);  // two layers of two
  run_in_process(2, [&](Collective& network) {
    Session session(reduced, world, network);
    // A draw of the largest magnitude of all workers is certain.
    const torch::Tensor own = network.rank() == 0 ? torch::tensor({4.0F, 0.0F, 0.0F, -2.0F})
                                                  : torch::tensor({4.0F, 0.0F, 0.0F, 0.0F});
    EXPECT_TRUE(session.step(own, 1).equal(torch::tensor({4.0F, 0.0F, 0.0F, -1.0F})));
  });
}

// The published figures for a Gaussian: the quantiser's own error 1.0071, and 0.0024 from clipping at 2.5
// standard deviations, both relative to the squared norm.
TEST(TernGrad, ErrsOnAGaussianAsItsEquationSays) {
  const World world = make_world(1 << 20, false);
  torch::manual_seed(1);
  const torch::Tensor gaussian = torch::randn({world.bucket.size});
  run_in_process(1, [&](Collective& network) {
    Session session(gathered, world, network);
    const torch::Tensor error = session.step(gaussian, 1) - gaussian;
    EXPECT_NEAR((error.square().sum() / gaussian.square().sum()).item<double>(), 1.0095, 0.01);
  });
}

TEST(TernGrad, DrawsAroundTheClippedGradient) {
  constexpr int draws = 4000;
  const World world = make_world(64, false);
  torch::Tensor gradient = real_gradient(world, 0, 1);
  gradient[3] = 40.0F;  // far beyond 2.5 standard deviations of its layer of 32
  torch::Tensor clipped = gradient.clone();
  torch::Tensor layer = clipped.narrow(0, 0, 32);
  const double bound = 2.5 * layer.std(false).item<double>();
  ASSERT_LT(bound, 30);
  layer.clamp_(-bound, bound);
  torch::Tensor other = clipped.narrow(0, 32, 32);
  const double other_bound = 2.5 * other.std(false).item<double>();
  other.clamp_(-other_bound, other_bound);
  run_in_process(1, [&](Collective& network) {
    Session session(gathered, world, network);
    torch::Tensor sum = torch::zeros({64}, torch::kDouble);
    for (int step = 1; step <= draws; ++step) sum += session.step(gradient, step);
    // A draw's variance is |ĝ|(s - |ĝ|) <= s²/4.
    const double allowed = 5 * bound / 2 / std::sqrt(draws);
    EXPECT_LE((sum / draws - clipped).abs().max().item<double>(), allowed);
    EXPECT_NEAR((sum / draws)[3].item<double>(), bound, 1e-3 * bound) << "the draw is certain";
  });
}

TEST(TernGrad, LeavesALayerThatHardlyVariesUnclipped) {
  const World world = make_world(64, false);
  run_in_process(1, [&](Collective& network) {
    Session session(gathered, world, network);
    const torch::Tensor constant = torch::full({64}, 0.25F);
    EXPECT_TRUE(session.step(constant, 1).equal(constant));
  });
}

}  // namespace
}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/commands/conformance/session.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::make_world;
using trainer::testing::real_gradient;
using trainer::testing::Session;
using trainer::testing::World;

TEST(Qsgd, SendsTheScaleAndZeroForCertain) {
  const World world = make_world(6, false);
  run_in_process(1, [&](Collective& network) {
    Session session({{"name", "qsgd"}, {"bits", 4}, {"block_size", 4}}, world, network);
    // Blocks of 4 and 2 entries with 7 levels: 3/7 and 1 times the scale are exact levels.
    const torch::Tensor gradient = torch::tensor({7.0F, -3.0F, 0.0F, 7.0F, 0.0F, -0.5F});
    EXPECT_TRUE(session.step(gradient, 1).equal(gradient));
  });
}

TEST(Qsgd, ErrsByLessThanALevelOfItsBlock) {
  const World world = make_world(1000, false);
  const torch::Tensor gradient = real_gradient(world, 0, 1).mul(torch::arange(1000).add(1));
  for (const int bits : {2, 4, 8}) {
    run_in_process(1, [&](Collective& network) {
      Session session({{"name", "qsgd"}, {"bits", bits}, {"block_size", 100}}, world, network);
      const torch::Tensor error = (session.step(gradient, 1) - gradient).abs().view({10, 100});
      const torch::Tensor level = gradient.abs().view({10, 100}).amax(1, true) / ((1 << (bits - 1)) - 1);
      EXPECT_TRUE(error.le(level.mul(1 + 1e-6)).all().item<bool>()) << bits << " bits";
    });
  }
}

TEST(Qsgd, ABlockMayBeLargerThanAnyBucket) {
  const World world = make_world(6, false);
  const Json whole = {{"name", "qsgd"}, {"block_size", 6}};
  const Json larger = {{"name", "qsgd"}, {"block_size", std::numeric_limits<std::int64_t>::max()}};
  run_in_process(1, [&](Collective& network) {
    Session one(whole, world, network);
    Session other(larger, world, network);
    EXPECT_EQ(other.method().traffic(world.bucket, 1).payload_bytes, 4 + 3);
    const torch::Tensor gradient = real_gradient(world, 0, 1);
    EXPECT_TRUE(other.step(gradient, 1).equal(one.step(gradient, 1)));
  });
}

// The paper's bound for the Euclidean norm: E‖x̂ - x‖² <= min(n/s², √n/s)·‖x‖².
TEST(Qsgd, StaysWithinThePapersVariance) {
  constexpr std::int64_t block = 64;
  const World world = make_world(block * 2000, false);
  torch::manual_seed(1);
  const torch::Tensor gaussian = torch::randn({world.bucket.size});
  for (const int bits : {2, 4, 8}) {
    run_in_process(1, [&](Collective& network) {
      Session session({{"name", "qsgd"}, {"bits", bits}, {"block_size", block}, {"norm", "l2"}}, world,
                      network);
      const torch::Tensor error = session.step(gaussian, 1) - gaussian;
      const double relative = (error.square().sum() / gaussian.square().sum()).item<double>();
      const double levels = (1 << (bits - 1)) - 1;
      EXPECT_LE(relative, std::min(block / (levels * levels), std::sqrt(block) / levels)) << bits << " bits";
      EXPECT_GT(relative, 0) << bits << " bits";
    });
  }
}

}  // namespace
}  // namespace thinpipe::trainer

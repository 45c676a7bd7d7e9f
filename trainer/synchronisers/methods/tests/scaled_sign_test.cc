// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/commands/conformance/session.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::make_world;
using trainer::testing::real_gradient;
using trainer::testing::Session;
using trainer::testing::World;

const Json scaled_sign = {{"name", "scaled_sign"}};

TEST(ScaledSign, SendsEachTensorsMeanMagnitude) {
  const World world = make_world(4, false);  // two tensors of two
  run_in_process(2, [&](Collective& network) {
    Session session(scaled_sign, world, network);
    // Rank 0: 2 and -2, then 2 and -2, because a zero is positive. Rank 1: -1 and -1, then zeros.
    const torch::Tensor own = network.rank() == 0 ? torch::tensor({3.0F, -1.0F, 0.0F, -4.0F})
                                                  : torch::tensor({-1.0F, -1.0F, 0.0F, 0.0F});
    EXPECT_TRUE(session.step(own, 1).equal(torch::tensor({0.5F, -1.5F, 1.0F, -1.0F})));
  });
}

TEST(ScaledSign, PrunedEntriesNeitherTravelNorCount) {
  const World world = make_world(8, true);  // of the first four, the first and the third are kept
  run_in_process(1, [&](Collective& network) {
    Session session(scaled_sign, world, network);
    const torch::Tensor gradient = torch::tensor({3.0F, 0.0F, -1.0F, 0.0F, 1.0F, 1.0F, 1.0F, 1.0F});
    EXPECT_TRUE(
        session.step(gradient, 1).equal(torch::tensor({2.0F, 0.0F, -2.0F, 0.0F, 1.0F, 1.0F, 1.0F, 1.0F})));
    EXPECT_EQ(session.method().traffic(world.bucket, 1).payload_bytes, 2 * 4 + 1);  // 6 entries: a byte
    session.method().adopt_masks({torch::Tensor(), torch::Tensor()});
    EXPECT_EQ(session.method().traffic(make_world(18, false).bucket, 1).payload_bytes, 2 * 4 + 3);
  });
}

// ‖x̂ - p‖² = ‖p‖² - ‖p‖₁²/n.
TEST(ScaledSign, ErrsAsItsEquationSays) {
  const World world = make_world(2000, false);
  const torch::Tensor gradient = real_gradient(world, 0, 1);
  run_in_process(1, [&](Collective& network) {
    Session session(scaled_sign, world, network);
    const torch::Tensor error = (session.step(gradient, 1) - gradient).view({2, 1000}).square().sum(1);
    const torch::Tensor tensors = gradient.view({2, 1000});
    const torch::Tensor expected = tensors.square().sum(1) - tensors.abs().sum(1).square() / 1000;
    EXPECT_TRUE(error.allclose(expected, 1e-4));
  });
}

}  // namespace
}  // namespace thinpipe::trainer

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

TEST(E3m0, SendsPowersOfTwoOfItsBlocksScale) {
  const World world = make_world(12, false);
  run_in_process(1, [&](Collective& network) {
    Session session({{"name", "e3m0"}, {"block_size", 9}}, world, network);
    const torch::Tensor exact =
        torch::tensor({64.0F, -32.0F, 16.0F, 8.0F, 4.0F, -2.0F, 1.0F, 0.0F, 0.0F, 0.0F, 3.0F, -1.5F});
    EXPECT_TRUE(session.step(exact, 1).equal(exact));
    // Rounded to the nearest, upwards from the middle; below half of the smallest to zero.
    const torch::Tensor between =
        torch::tensor({64.0F, -47.9F, 48.0F, 0.49F, 0.5F, -0.7F, 3.1F, 2.9F, 65.0F, 0.0F, 3.0F, -1.5F});
    const torch::Tensor out = session.step(between, 2) * (64.0F / 65.0F);
    EXPECT_TRUE(torch::allclose(out.narrow(0, 0, 9),
                                torch::tensor({64.0F, -32.0F, 32.0F, 0.0F, 0.0F, -1.0F, 4.0F, 2.0F, 64.0F})));
  });
}

TEST(E3m0, ErrsByAThirdOrAHundredAndTwentyEighthOfTheScale) {
  const World world = make_world(1000, false);
  run_in_process(3, [&](Collective& network) {
    Session session({{"name", "e3m0"}, {"block_size", 100}}, world, network);
    torch::Tensor mean = torch::zeros({1000});
    torch::Tensor bound = torch::zeros({1000});
    for (int rank = 0; rank < 3; ++rank) {
      const torch::Tensor gradient = real_gradient(world, rank, 1);
      const torch::Tensor scale =
          gradient.abs().view({10, 100}).amax(1, true).expand({10, 100}).reshape({1000});
      mean += gradient / 3;
      bound += torch::maximum(gradient.abs() / 3, scale / 128) / 3;
    }
    const torch::Tensor out = session.step(real_gradient(world, network.rank(), 1), 1);
    EXPECT_TRUE((out - mean).abs().le(bound * (1 + 1e-5)).all().item<bool>());
    EXPECT_FALSE(out.equal(mean));
    EXPECT_EQ(session.method().traffic(world.bucket, 3).payload_bytes, 40 + 500);
  });
}

}  // namespace
}  // namespace thinpipe::trainer

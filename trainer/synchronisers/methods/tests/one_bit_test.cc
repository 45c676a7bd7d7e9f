// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/commands/conformance/session.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::make_world;
using trainer::testing::Session;
using trainer::testing::World;

const Json one_bit_by_tensor = {{"name", "one_bit"}, {"scale", "tensor"}};
const Json one_bit_by_row = {{"name", "one_bit"}, {"scale", "row"}};

TEST(OneBit, SendsTheMeanOfEachSignAndKeepsTheRest) {
  const World world = make_world(8, false);  // two tensors of four
  run_in_process(1, [&](Collective& network) {
    Session session(one_bit_by_tensor, world, network);
    // The second tensor has no negative values: their level is 0 and is never used.
    const torch::Tensor gradient = torch::tensor({1.0F, 3.0F, -2.0F, -4.0F, 0.0F, 2.0F, 4.0F, 6.0F});
    EXPECT_TRUE(
        session.step(gradient, 1).equal(torch::tensor({2.0F, 2.0F, -3.0F, -3.0F, 3.0F, 3.0F, 3.0F, 3.0F})));
    // e = (-1, 1, 1, -1 | -3, -1, 1, 3).
    EXPECT_TRUE(session.step(torch::zeros({8}), 2)
                    .equal(torch::tensor({-1.0F, 1.0F, 1.0F, -1.0F, -2.0F, -2.0F, 2.0F, 2.0F})));
    // e = (0, 0, 0, 0 | -1, 1, -1, 1), which two means represent exactly.
    EXPECT_TRUE(session.step(torch::zeros({8}), 3)
                    .equal(torch::tensor({0.0F, 0.0F, 0.0F, 0.0F, -1.0F, 1.0F, -1.0F, 1.0F})));
    EXPECT_TRUE(session.step(torch::zeros({8}), 4).eq(0).all().item<bool>());
  });
}

TEST(OneBit, EachRowHasMeansOfItsOwn) {
  const World world = make_world(8, false);  // two matrices of 2×2
  const torch::Tensor gradient = torch::tensor({1.0F, -3.0F, 5.0F, -7.0F, 1.0F, 2.0F, 30.0F, 40.0F});
  run_in_process(1, [&](Collective& network) {
    Session by_row(one_bit_by_row, world, network);
    EXPECT_TRUE(
        by_row.step(gradient, 1).equal(torch::tensor({1.0F, -3.0F, 5.0F, -7.0F, 1.5F, 1.5F, 35.0F, 35.0F})));
    EXPECT_EQ(by_row.method().traffic(world.bucket, 1).payload_bytes, 4 * 8 + 1);
    Session by_tensor(one_bit_by_tensor, world, network);
    EXPECT_TRUE(by_tensor.step(gradient, 1)
                    .equal(torch::tensor({3.0F, -5.0F, 3.0F, -5.0F, 18.25F, 18.25F, 18.25F, 18.25F})));
    EXPECT_EQ(by_tensor.method().traffic(world.bucket, 1).payload_bytes, 2 * 8 + 1);
  });
}

// NaN has no order: whatever its bits and the other values, it must not get lost.
TEST(OneBit, WhatIsNotFiniteShows) {
  const World world = make_world(8, false);
  run_in_process(1, [&](Collective& network) {
    for (const float poison : {std::nanf(""), -std::nanf(""), INFINITY, -INFINITY}) {
      for (const float company : {-1.0F, 1.0F, 0.0F}) {
        Session session(one_bit_by_tensor, world, network);
        torch::Tensor gradient = torch::full({8}, company);
        gradient[5] = poison;
        EXPECT_FALSE(std::isfinite(session.step(gradient, 1).sum().item<float>())) << poison << company;
      }
    }
  });
}

TEST(OneBit, PrunedEntriesDoNotPullTheMeanDown) {
  const World world =
      make_world(8, true);  // of the first four, the first and the third are kept: one in each row
  const torch::Tensor gradient = torch::tensor({4.0F, 0.0F, 2.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F});
  run_in_process(1, [&](Collective& network) {
    Session by_tensor(one_bit_by_tensor, world, network);
    EXPECT_TRUE(
        by_tensor.step(gradient, 1).equal(torch::tensor({3.0F, 0.0F, 3.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F})));
    Session by_row(one_bit_by_row, world, network);
    EXPECT_TRUE(by_row.step(gradient, 1).equal(gradient));
  });
}

}  // namespace
}  // namespace thinpipe::trainer

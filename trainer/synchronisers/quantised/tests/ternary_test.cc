// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/quantised/ternary.hh"

#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

using ::testing::ElementsAre;

std::vector<int> rounded(const std::vector<float>& values, float scale) {
  std::vector<std::int8_t> codes(values.size(), 9);
  round_ternary(values, scale, codes);
  return {codes.begin(), codes.end()};
}

TEST(Ternary, RoundsToTheNearestOfThree) {
  EXPECT_THAT(rounded({4, 2, 1.999F, 0.5F, 0, -0.0F, -1.999F, -2, -4}, 4),
              ElementsAre(1, 1, 0, 0, 0, 0, 0, -1, -1));
}

TEST(Ternary, ScalesToDeviationsWhereTheySaySomething) {
  std::vector<float> values(16, 0.0F);
  values[3] = -4;  // variance 1 - 1/16
  EXPECT_FLOAT_EQ(clipped_ternary_scale(values, 2), 2 * std::sqrt(0.9375F));
  EXPECT_EQ(clipped_ternary_scale(values, 0), 4);
  EXPECT_EQ(clipped_ternary_scale(values, 10), 4) << "never above the largest value";
  EXPECT_EQ(clipped_ternary_scale(std::span(values).first(15), 2), 4) << "too few values";
  EXPECT_EQ(clipped_ternary_scale(std::vector(16, -3.0F), 2), 3) << "equal values";
  EXPECT_EQ(clipped_ternary_scale({}, 2), 0);
  values[5] = std::nanf("");
  EXPECT_TRUE(std::isinf(clipped_ternary_scale(values, 2)));
}

TEST(Ternary, RoundsZeroToZeroAtAScaleOfZero) {
  EXPECT_THAT(rounded({0, -0.0F}, 0), ElementsAre(0, 0));
}

TEST(Ternary, TheLargestIsDrawnForCertainHoweverSmall) {
  constexpr float highest_uniform = 1 - 0x1p-24F;
  for (const float largest : {std::numeric_limits<float>::denorm_min(), 1e-40F, 1.999F, 3e38F}) {
    std::vector<std::int8_t> codes(3);
    draw_ternary(std::vector{largest, -largest, 0.0F}, largest, std::vector(3, highest_uniform), codes);
    EXPECT_THAT(codes, ElementsAre(1, -1, 0)) << largest;
  }
}

TEST(Ternary, NothingIsDrawnAtAScaleOfZeroOrInfinity) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<std::int8_t> codes(2, 9);
  draw_ternary(std::vector{0.0F, -0.0F}, 0, std::vector{0.0F, 0.5F}, codes);
  EXPECT_THAT(codes, ElementsAre(0, 0));
  codes.assign(3, 9);
  draw_ternary(std::vector{1.0F, infinity, std::nanf("")}, infinity, std::vector(3, 0.0F), codes);
  EXPECT_THAT(codes, ElementsAre(0, 0, 0));
}

TEST(Ternary, AnInfiniteScaleMakesEveryCodeZero) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(rounded({1, -5}, infinity), ElementsAre(0, 0));
}

}  // namespace
}  // namespace thinpipe::trainer

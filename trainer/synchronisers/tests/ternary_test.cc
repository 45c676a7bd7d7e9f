#include "trainer/synchronisers/ternary.hh"

#include <array>
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

TEST(Ternary, RoundsZeroToZeroAtAScaleOfZero) {
  EXPECT_THAT(rounded({0, -0.0F}, 0), ElementsAre(0, 0));
}

TEST(Ternary, RoundingIsOffByAtMostHalfTheScale) {
  for (float value = -3; value <= 3; value += 0.01F) {
    const auto code = static_cast<float>(rounded({value}, 3)[0]);
    EXPECT_LE(std::abs(value - 3 * code), 1.5F + 1e-6F) << value;
  }
}

TEST(Ternary, AnInfiniteScaleMakesEveryCodeZero) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(rounded({1, -5}, infinity), ElementsAre(0, 0));
}

}  // namespace
}  // namespace thinpipe::trainer

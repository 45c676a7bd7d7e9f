// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/quantised/sign_code.hh"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

using ::testing::ElementsAre;

TEST(SignCode, LiesInTheOrderThatTheWireFormatSays) {
  const std::vector<float> values = {1, -1, 0, -0.0F, -2, std::nanf(""), -INFINITY, 3, -1, 5};
  std::vector<std::uint8_t> packed(2);
  pack_signs(values, packed);
  EXPECT_THAT(packed, ElementsAre(0b10001101, 0b00000010));
}

TEST(SignCode, AddsTheLevelsOfEachGroup) {
  // + - | + + - | (none) | -
  const std::vector<std::uint8_t> packed = {0b00001101};
  const std::vector<std::int64_t> sizes = {2, 3, 0, 1};
  const std::vector<SignLevels> levels = {{-1, 2}, {-10, 20}, {-99, 99}, {-100, 200}};
  std::vector<float> values = {0, 0, 0, 0, 0, 1000};
  add_signs(packed, sizes, levels, values);
  EXPECT_THAT(values, ElementsAre(2, -1, 20, 20, -10, 900));
}

}  // namespace
}  // namespace thinpipe::trainer

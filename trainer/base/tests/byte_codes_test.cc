// SPDX-License-Identifier: Apache-2.0
#include "trainer/base/byte_codes.hh"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

std::vector<float> through_bytes(const std::vector<float>& values) {
  const float scale = largest_magnitude(values);
  std::vector<std::int8_t> codes(values.size(), 1);
  round_to_bytes(values, scale, codes);
  std::vector<float> out(values.size(), 0);
  add_bytes(codes, scale, out);
  return out;
}

TEST(ByteCodes, RoundToTheNearestOf255Levels) {
  EXPECT_EQ(through_bytes({127, -127, 0, 2.4F, -2.6F, 2.5F, 3.5F}),
            std::vector<float>({127, -127, 0, 2, -3, 2, 4}));
}

TEST(ByteCodes, KeepZerosAndTinyNumbers) {
  EXPECT_EQ(through_bytes({0, 0}), std::vector<float>({0, 0}));
  EXPECT_TRUE(through_bytes({}).empty());
  const float tiny = std::numeric_limits<float>::min();
  EXPECT_NEAR(through_bytes({-tiny, tiny / 2})[0] / -tiny, 1, 1e-6);
}

TEST(ByteCodes, AnEntryThatIsNotFiniteMakesAllNotANumber) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    for (const float value : through_bytes({1, bad, 0})) EXPECT_TRUE(std::isnan(value));
  }
}

}  // namespace
}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
#include "harness/terminal/sparkline.hh"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

TEST(Sparkline, HasAnEighthPerBlock) {
  EXPECT_EQ(sparkline({0, 0.124, 0.125, 0.5, 0.874, 0.875, 1}, 10), "▁▁▂▅▇██");
  EXPECT_EQ(sparkline({-1, 2}, 10), "▁█");
  EXPECT_EQ(sparkline({}, 10), "");
}

TEST(Sparkline, ShowsMeansIfThereAreMoreValuesThanColumns) {
  EXPECT_EQ(sparkline({0, 0, 1, 1}, 2), "▁█");
  EXPECT_EQ(sparkline({0, 1, 1}, 2), "▁█");
  EXPECT_EQ(sparkline({0, 1, 0, 1}, 1), "▅");
}

}  // namespace
}  // namespace thinpipe

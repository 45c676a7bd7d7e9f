// SPDX-License-Identifier: Apache-2.0
#include "common/support/readable.hh"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

TEST(FormatBytes, KeepsThreeDigits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1000), "1.00 kB");
  EXPECT_EQ(format_bytes(82.14e6), "82.1 MB");
  EXPECT_EQ(format_bytes(999.9e6), "1.00 GB");
}

TEST(FormatDuration, HasTheTwoLargestUnits) {
  EXPECT_EQ(format_duration(-1), "0 s");
  EXPECT_EQ(format_duration(99.4), "99 s");
  EXPECT_EQ(format_duration(99.5), "1 min 40 s");
  EXPECT_EQ(format_duration(3599), "59 min 59 s");
  EXPECT_EQ(format_duration(7530), "2 h 5 min");
}

}  // namespace
}  // namespace thinpipe

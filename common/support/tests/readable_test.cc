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

TEST(ThreeDigits, AreTheDigitsOfTheSize) {
  EXPECT_EQ(three_digits(4.266, 4.266), "4.27");
  EXPECT_EQ(three_digits(9.996, 9.996), "10.0");
  EXPECT_EQ(three_digits(509.9, 509.9), "510");
  EXPECT_EQ(three_digits(1234.5, 1234.5), "1234");
  EXPECT_EQ(three_digits(35.72, 104), "36") << "an end of the interval around 104";
  EXPECT_EQ(three_digits(-0.25, -0.25), "-0.250");
  EXPECT_EQ(three_digits(0.01134, 0.01134), "0.011") << "no more than three decimals";
  EXPECT_EQ(three_digits(0.512, 0.512, 2), "0.51");
  EXPECT_EQ(three_digits(0, 0), "0.00");
}

TEST(FormatTime, KeepsThreeDigits) {
  EXPECT_EQ(format_time(1.23e-5), "0.012 ms");
  EXPECT_EQ(format_time(0.08136), "81.4 ms");
  EXPECT_EQ(format_time(9.876), "9876 ms");
  EXPECT_EQ(format_time(12.345), "12.3 s");
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

// SPDX-License-Identifier: Apache-2.0
#include "harness/advice/pay_off.hh"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

const std::vector<double> decades = {1e7, 1e8, 1e9, 1e10};

TEST(FindPayOff, EndsWhereTheSpeedUpFallsBelowTheThreshold) {
  const auto range = find_pay_off(decades, [](double rate) { return 1 + 0.05 * 3.7e8 / rate; });
  ASSERT_TRUE(range);
  EXPECT_FALSE(range->from_bit_per_s);
  EXPECT_NEAR(range->to_bit_per_s.value(), 3.7e8, 1e3);
}

TEST(FindPayOff, BeginsWhereABaselineThatSendsLessLosesItsAdvantage) {
  const auto range = find_pay_off(decades, [](double rate) { return 1 + 0.05 * rate / 2e9; });
  ASSERT_TRUE(range);
  EXPECT_NEAR(range->from_bit_per_s.value(), 2e9, 1e4);
  EXPECT_FALSE(range->to_bit_per_s);
}

TEST(FindPayOff, OfSeveralRangesTheWidestCounts) {
  const auto pays_at = [](double low, double high, double rate) { return rate > low && rate < high; };
  const auto range = find_pay_off({1, 2, 3, 4, 5, 6}, [&](double rate) {
    return pays_at(0, 1.5, rate) || pays_at(2.5, 5.5, rate) ? 2.0 : 1.0;
  });
  ASSERT_TRUE(range);
  EXPECT_NEAR(range->from_bit_per_s.value(), 2.5, 1e-5);
  EXPECT_NEAR(range->to_bit_per_s.value(), 5.5, 1e-5);
}

TEST(FindPayOff, IsAlwaysOrNeverIfItDoesNotChange) {
  EXPECT_EQ(find_pay_off(decades, [](double) { return 1.06; }), CapRange());
  EXPECT_EQ(find_pay_off(decades, [](double) { return 1.05; }), std::nullopt)
      << "not more than the threshold";
}

TEST(Describe, SaysARangeInThreeDigits) {
  EXPECT_EQ(describe({}), "never");
  EXPECT_EQ(describe(CapRange{}), "always");
  EXPECT_EQ(describe(CapRange{.to_bit_per_s = 1.23456e9}), "below 1.23 Gbit/s");
  EXPECT_EQ(describe(CapRange{.from_bit_per_s = 98.76e6}), "above 98.8 Mbit/s");
  EXPECT_EQ(describe(CapRange{.from_bit_per_s = 1e7, .to_bit_per_s = 9.999e8}), "10 Mbit/s to 1 Gbit/s");
}

TEST(GeometricRates, HaveBothEnds) {
  const auto rates = geometric_rates(1e7, 1e10, 8);
  ASSERT_EQ(rates.size(), 25);
  EXPECT_EQ(rates.front(), 1e7);
  EXPECT_EQ(rates.back(), 1e10);
  EXPECT_NEAR(rates[8], 1e8, 1);
}

}  // namespace
}  // namespace thinpipe

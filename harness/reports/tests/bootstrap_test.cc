// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/bootstrap.hh"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

TEST(Bootstrap, IsExactForFewValues) {
  // Of two values, a quarter of all samples has the lower one twice.
  EXPECT_DOUBLE_EQ(bootstrap_mean({20, 25}).low, 20);
  EXPECT_DOUBLE_EQ(bootstrap_mean({20, 25}).high, 25);
  // Of three, 1 in 27 has the lowest one three times, which is more than 2.5 %.
  EXPECT_DOUBLE_EQ(bootstrap_mean({1, 2, 6}).low, 1);
  EXPECT_DOUBLE_EQ(bootstrap_mean({1, 2, 6}).high, 6);
  // Of 0, 0, 0, 0, 5, the number of fives is binomial with n = 5 and p = 0.2: at most 2 in 94.2 %, 3 in 99.3 %.
  EXPECT_DOUBLE_EQ(bootstrap_mean({0, 0, 0, 0, 5}).low, 0);
  EXPECT_DOUBLE_EQ(bootstrap_mean({0, 0, 0, 0, 5}).high, 3);
}

TEST(Bootstrap, AgreesWithEveryOrderedSample) {
  const std::vector<double> values = {3.5, 1.25, 2, 7, 4};
  std::vector<double> means;
  for (int sample = 0; sample < 5 * 5 * 5 * 5 * 5; ++sample) {
    double sum = 0;
    for (int i = 0, rest = sample; i < 5; ++i, rest /= 5) sum += values[static_cast<std::size_t>(rest % 5)];
    means.push_back(sum / 5);
  }
  std::ranges::sort(means);
  const Interval interval = bootstrap_mean(values);
  EXPECT_NEAR(interval.low, means[static_cast<std::size_t>(0.025 * 3125)], 1e-12);
  EXPECT_NEAR(interval.high, means[static_cast<std::size_t>(0.975 * 3125)], 1e-12);
}

TEST(Bootstrap, OfManyValuesIsRepeatableAndNearTheNormalInterval) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(10, 2);
  std::vector<double> values(400);
  for (double& value : values) value = normal(random);
  const Interval interval = bootstrap_mean(values);
  EXPECT_NEAR(interval.high - interval.low, 2 * 1.96 * 2 / 20, 0.05);
  EXPECT_EQ(bootstrap_mean(values).low, interval.low);
}

// Of skewed values, the interval is not symmetric.
TEST(Bootstrap, OfManyValuesIsThatOfDrawnSamples) {
  std::mt19937_64 random(5);
  std::exponential_distribution<double> exponential(1);
  std::vector<double> values(200);
  for (double& value : values) value = exponential(random);
  std::uniform_int_distribution<std::size_t> draw(0, values.size() - 1);
  std::vector<double> means(40000);
  for (double& mean : means) {
    for (std::size_t i = 0; i < values.size(); ++i) mean += values[draw(random)];
    mean /= static_cast<double>(values.size());
  }
  std::ranges::sort(means);
  const Interval interval = bootstrap_mean(values);
  EXPECT_NEAR(interval.low, means[1000], 0.003);
  EXPECT_NEAR(interval.high, means[39000], 0.003);
  const double centre = std::accumulate(values.begin(), values.end(), 0.0) / 200;
  EXPECT_GT(interval.high - centre, centre - interval.low + 0.005);
}

// The difference is a share of the mean's standard error.
void expect_near_drawn_samples(const std::vector<double>& values, double share) {
  std::mt19937_64 random(9);
  const std::size_t n = values.size();
  std::uniform_int_distribution<std::size_t> draw(0, n - 1);
  std::vector<double> means(100000);
  for (double& mean : means) {
    for (std::size_t i = 0; i < n; ++i) mean += values[draw(random)] / static_cast<double>(n);
  }
  std::ranges::sort(means);
  const double centre = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(n);
  double squares = 0;
  for (const double value : values) squares += (value - centre) * (value - centre);
  const double error = std::sqrt(squares) / static_cast<double>(n);
  const Interval interval = bootstrap_mean(values);
  EXPECT_NEAR(interval.low, means[2500], share * error) << n;
  EXPECT_NEAR(interval.high, means[97500], share * error) << n;
}

TEST(Bootstrap, OfMoreThanFewValuesIsNearThatOfDrawnSamples) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal(100, 3);
  std::exponential_distribution<double> exponential(1);
  for (const std::size_t n : {7, 8, 10, 20, 83}) {
    std::vector<double> values(n);
    for (double& value : values) value = normal(random);
    expect_near_drawn_samples(values, 0.05);
    for (double& value : values) value = exponential(random);
    expect_near_drawn_samples(values, 0.1);
  }
}

// A third of all samples of nine values lacks the one that differs; 1.2 % have it four times or more.
TEST(Bootstrap, EndsAtTheValueThatNearlyAllHave) {
  std::vector<double> values(9, 2.0);
  values[3] = 11;
  EXPECT_DOUBLE_EQ(bootstrap_mean(values).low, 2);
  EXPECT_NEAR(bootstrap_mean(values).high, 5, 0.5);
  values[3] = -7;
  EXPECT_DOUBLE_EQ(bootstrap_mean(values).high, 2);
  EXPECT_NEAR(bootstrap_mean(values).low, -1, 0.5);
}

TEST(Bootstrap, OfEqualValuesIsTheValue) {
  for (const std::size_t n : {2, 8, 200}) {
    const Interval interval = bootstrap_mean(std::vector<double>(n, 0.1));
    EXPECT_EQ(interval.low, 0.1);
    EXPECT_EQ(interval.high, 0.1);
  }
}

TEST(Bootstrap, HoldsForTinyAndHugeDifferences) {
  const std::vector<double> values = {0, 1, 2, 3, 4, 5, 6, 7};
  const Interval interval = bootstrap_mean(values);
  for (const double unit : {1e-200, 1e200}) {
    std::vector<double> scaled;
    for (const double value : values) scaled.push_back(unit * value);
    EXPECT_NEAR(bootstrap_mean(scaled).low / unit, interval.low, 1e-9);
    EXPECT_NEAR(bootstrap_mean(scaled).high / unit, interval.high, 1e-9);
  }
}

// What reports say about few seeds: the interval holds the true mean less often than 95 %.
TEST(Bootstrap, OfFewNormalValuesHoldsTheMeanLessOften) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  const auto coverage = [&](std::size_t n) {
    int held = 0;
    std::vector<double> values(n);
    for (int i = 0; i < 4000; ++i) {
      for (double& value : values) value = normal(random);
      const Interval interval = bootstrap_mean(values);
      held += interval.low <= 0 && 0 <= interval.high ? 1 : 0;
    }
    return held / 4000.0;
  };
  for (std::size_t n = 2; n <= 10; ++n) EXPECT_NEAR(100 * coverage(n), coverage_percent(n).value(), 2) << n;
  EXPECT_FALSE(coverage_percent(1));
  EXPECT_FALSE(coverage_percent(11));
}

}  // namespace
}  // namespace thinpipe

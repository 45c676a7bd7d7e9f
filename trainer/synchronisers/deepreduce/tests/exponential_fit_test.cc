// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/deepreduce/exponential_fit.hh"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// Returns the curve y(x) at `count` points from 0 to 1.
std::vector<float> curve_of(std::size_t count, const auto& y) {
  std::vector<float> out;
  for (std::size_t i = 0; i < count; ++i)
    out.push_back(static_cast<float>(y(static_cast<double>(i) / static_cast<double>(count - 1))));
  return out;
}

std::vector<float> refitted(const std::vector<float>& curve) {
  std::vector<float> out(curve.size());
  EXPECT_TRUE(evaluate_double_exponential(fit_double_exponential(curve), out));
  return out;
}

// Returns the root mean square of the fit's error relative to that of the curve.
double relative_error_of_fit(const std::vector<float>& curve) {
  const std::vector<float> fitted = refitted(curve);
  double errors = 0;
  double squares = 0;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    errors += std::pow(static_cast<double>(fitted[i]) - curve[i], 2);
    squares += std::pow(static_cast<double>(curve[i]), 2);
  }
  return std::sqrt(errors / squares);
}

TEST(DoubleExponential, GivesBackTwoExponentials) {
  const std::vector<float> curve =
      curve_of(1000, [](double x) { return 3 * std::exp(-20 * x) + std::exp(-2 * x); });
  EXPECT_LT(relative_error_of_fit(curve), 1e-4);
  const DoubleExponential fitted = fit_double_exponential(curve);
  EXPECT_NEAR(fitted.a, 3, 0.01);
  EXPECT_NEAR(999 * std::log(fitted.u), -20, 0.1);
  EXPECT_NEAR(fitted.c, 1, 0.01);
  EXPECT_NEAR(999 * std::log(fitted.v), -2, 0.01);
}

TEST(DoubleExponential, FitsCurvesWhoseExponentsAreNotTwo) {
  EXPECT_LT(relative_error_of_fit(curve_of(500, [](double x) { return std::exp(-3 * x); })), 1e-4) << "one";
  EXPECT_LT(relative_error_of_fit(curve_of(500, [](double x) { return 2 + std::exp(-3 * x); })), 1e-4)
      << "one and a constant";
  EXPECT_LT(relative_error_of_fit(curve_of(500, [](double x) { return (1 + x) * std::exp(-3 * x); })), 1e-3)
      << "two equal ones";
  EXPECT_LT(relative_error_of_fit(curve_of(500, [](double x) { return 2 - x; })), 1e-3) << "a line";
  EXPECT_LT(relative_error_of_fit(curve_of(500, [](double x) { return 1.2 + std::cos(3 * x); })), 0.2)
      << "complex ones";
}

TEST(DoubleExponential, KeepsAConstantExactly) {
  EXPECT_THAT(refitted(std::vector<float>(300, 0.5F)), Each(0.5F));
  EXPECT_THAT(refitted({0.25F, 0.25F}), ElementsAre(0.25F, 0.25F));
}

TEST(DoubleExponential, IsNeverWorseThanTheMean) {
  const std::vector<std::vector<float>> curves = {{2, 1},
                                                  {9, 1, 1},
                                                  {9, 9, 9, 9, 9, 9, 9, 9, 9, 1},
                                                  {9, 1, 1, 1, 1, 1, 1, 1, 1, 1},
                                                  {4, 3, 2, 1},
                                                  curve_of(200, [](double x) { return x < 0.5 ? 2 : 1; })};
  for (const std::vector<float>& curve : curves) {
    const std::vector<float> fitted = refitted(curve);
    const double mean = std::accumulate(curve.begin(), curve.end(), 0.0) / static_cast<double>(curve.size());
    double errors = 0;
    double spread = 0;
    for (std::size_t i = 0; i < curve.size(); ++i) {
      errors += std::pow(static_cast<double>(fitted[i]) - curve[i], 2);
      spread += std::pow(curve[i] - mean, 2);
    }
    EXPECT_LE(errors, 1.000001 * spread) << ::testing::PrintToString(curve);
  }
}

TEST(DoubleExponential, TakesTheLargestAndTheSmallestFloats) {
  constexpr float largest = std::numeric_limits<float>::max();
  constexpr float smallest = std::numeric_limits<float>::denorm_min();
  for (const float scale : {largest, 1e4F * smallest}) {
    std::vector<float> curve = curve_of(50, [](double x) { return std::exp(-5 * x); });
    for (float& value : curve) value *= scale;
    EXPECT_LT(relative_error_of_fit(curve), 0.01) << scale;
  }
  EXPECT_THAT(refitted({largest, smallest, smallest}),
              Each(::testing::Truly([](float value) { return std::isfinite(value); })));
}

TEST(DoubleExponential, DoesNotGrowWithoutBounds) {
  std::vector<float> values(5);
  EXPECT_FALSE(evaluate_double_exponential({.a = 1, .u = 1e200}, values)) << "infinite";
  EXPECT_FALSE(evaluate_double_exponential({.a = 1e300, .u = 1e9, .c = -1e300, .v = 1e9}, values));
  EXPECT_FALSE(evaluate_double_exponential({.a = std::nan("")}, values));
  EXPECT_TRUE(evaluate_double_exponential({.a = 1, .u = 1e30}, values));
  EXPECT_EQ(values.back(), std::numeric_limits<float>::max());
}

}  // namespace
}  // namespace thinpipe::trainer

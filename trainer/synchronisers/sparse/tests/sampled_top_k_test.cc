// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/sparse/sampled_top_k.hh"

#include <cmath>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/synchronisers/sparse/top_k.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::Contains;
using ::testing::SizeIs;

std::vector<float> gaussian_values(std::size_t n) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& value : values) value = normal(random);
  return values;
}

TEST(SampledTopK, TakesAboutKOfTheLargest) {
  constexpr std::size_t n = 200'000;
  const std::vector<float> values = gaussian_values(n);
  std::size_t exactly = 0;
  for (const double ratio : {0.1, 0.01, 0.001}) {
    const auto k = static_cast<std::size_t>(std::floor(ratio * n));
    for (std::uint32_t start = 0; start < 20; ++start) {
      const auto chosen =
          sampled_top_k_indices(values, {.ratio = ratio, .sample = 0.01, .start = start * 0x0CCCCCCCU});
      ASSERT_GE(static_cast<double>(chosen.size()), 0.8 * static_cast<double>(k)) << ratio;
      ASSERT_LE(chosen.size(), k) << ratio;
      EXPECT_EQ(chosen, top_k_indices(values, chosen.size())) << "no larger entry is left out";
      exactly += chosen.size() == k ? 1 : 0;
    }
  }
  EXPECT_LT(exactly, 60) << "a sample that never errs is not a sample";
}

TEST(SampledTopK, IsExactWhereTheSampleWouldBeAll) {
  const std::vector<float> values = gaussian_values(5000);
  EXPECT_EQ(sampled_top_k_indices(values, {.ratio = 0.01, .sample = 1}), top_k_indices(values, 50));
  // At least 2 / ratio values are sampled: 20,000.
  EXPECT_EQ(sampled_top_k_indices(values, {.ratio = 1e-4, .sample = 0.001}), top_k_indices(values, 1));
}

TEST(SampledTopK, TakesTheFirstOfEqualsAndNoMoreThanK) {
  const std::vector<float> zeros(100'000);
  const auto chosen = sampled_top_k_indices(zeros, {.ratio = 0.01, .sample = 0.01});
  ASSERT_THAT(chosen, SizeIs(1000));
  EXPECT_EQ(chosen.back(), 999U);
}

TEST(SampledTopK, NeverMissesANanOrAnInfinity) {
  for (const float poison : {std::nanf(""), -std::numeric_limits<float>::infinity()}) {
    std::vector<float> values = gaussian_values(100'000);
    // Every 97th value from the 49th on is sampled.
    for (const std::uint32_t at : {48U, 49U, 49U + 97U, 99'999U}) {
      values[at] = poison;
      EXPECT_THAT(sampled_top_k_indices(values, {.ratio = 0.01, .sample = 0.01, .start = 0x80000000}),
                  Contains(at));
    }
    std::vector<float> poisoned(100'000, poison);
    EXPECT_THAT(sampled_top_k_indices(poisoned, {.ratio = 0.01, .sample = 0.01}), SizeIs(1000));
  }
}

}  // namespace
}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
#include "trainer/base/random_words.hh"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

constexpr int draws = 20000;

RandomWords words(std::uint64_t seed = 1) {
  return RandomWords({.seed = seed, .step = 2, .bucket = 3, .rank = 4});
}

// Returns the largest distance between the draws' distribution and `cdf`; by Kolmogorov, above
// 1.95 / sqrt(draws) with a probability of 0.1 %.
double distance(const auto& draw, const auto& cdf) {
  std::vector<double> values(draws);
  for (double& value : values) value = draw();
  std::ranges::sort(values);
  double largest = 0;
  for (int i = 0; i < draws; ++i) {
    const double expected = cdf(values[static_cast<std::size_t>(i)]);
    largest = std::max({largest, std::abs(expected - static_cast<double>(i) / draws),
                        std::abs(expected - static_cast<double>(i + 1) / draws)});
  }
  return largest;
}

const double limit = 1.95 / std::sqrt(draws);

TEST(RandomWords, AreTheStreams) {
  std::vector<std::uint32_t> expected(11);
  fill_words({.seed = 1, .step = 2, .bucket = 3, .rank = 4}, expected);
  RandomWords stream = words();
  for (const std::uint32_t word : expected) EXPECT_EQ(stream.next(), word);
}

TEST(RandomWords, AreUniformBetweenZeroAndOne) {
  RandomWords stream = words();
  EXPECT_LT(distance([&] { return stream.uniform(); }, [](double x) { return std::clamp(x, 0.0, 1.0); }),
            limit);
}

TEST(RandomWords, AreNormal) {
  RandomWords stream = words();
  EXPECT_LT(
      distance([&] { return stream.normal(); }, [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }),
      limit);
}

TEST(RandomWords, ShuffleKeepsEveryValue) {
  std::vector<std::int64_t> values = {7, 7, 1, 2, 3, 4};
  RandomWords stream = words();
  stream.shuffle(values);
  EXPECT_THAT(values, testing::UnorderedElementsAre(7, 7, 1, 2, 3, 4));
  std::vector<std::int64_t> none;
  stream.shuffle(none);
}

}  // namespace
}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/sparse/top_k.hh"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The definition: sort by (|x| descending, index ascending), take k, put the indices in order.
std::vector<std::uint32_t> by_sorting(const std::vector<float>& values, std::size_t k) {
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(
      order, [&](std::uint32_t a, std::uint32_t b) { return std::abs(values[a]) > std::abs(values[b]); });
  order.resize(k);
  std::ranges::sort(order);
  return order;
}

TEST(TopK, PicksTheLargestMagnitudesInIndexOrder) {
  EXPECT_THAT(top_k_indices(std::vector<float>{1, -5, 3, -2}, 2), ElementsAre(1, 2));
}

TEST(TopK, BreaksTiesByTheLowestIndex) {
  EXPECT_THAT(top_k_indices(std::vector<float>{2, -2, 2, 2, -2}, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(top_k_indices(std::vector<float>{1, 2, 1, 3, 1}, 4), ElementsAre(0, 1, 2, 3));
}

TEST(TopK, TakesNothingOrEverything) {
  EXPECT_THAT(top_k_indices(std::vector<float>{}, 0), IsEmpty());
  EXPECT_THAT(top_k_indices(std::vector<float>{1, 2}, 0), IsEmpty());
  EXPECT_THAT(top_k_indices(std::vector<float>{0, -0.0F, 0}, 3), ElementsAre(0, 1, 2));
}

TEST(TopK, NanAndInfinityComeFirst) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(top_k_indices(std::vector<float>{1e30F, nan, 2, -infinity}, 1), ElementsAre(1));
  EXPECT_THAT(top_k_indices(std::vector<float>{1e30F, nan, 2, -infinity}, 2), ElementsAre(1, 3));
}

// If few entries are large, if zeros must fill up the k, and if there is a NaN.
TEST(TopK, EqualsSortingWhereMostEntriesAreEqual) {
  std::vector<float> values(5000);
  for (std::size_t i = 7; i < values.size(); i += 100)
    values[i] = i % 200 == 7 ? 1.5F : -static_cast<float>(i);
  for (const std::size_t k : {1U, 25U, 26U, 50U, 51U, 1000U, 4999U}) {
    EXPECT_EQ(top_k_indices(values, k), by_sorting(values, k)) << k;
  }
  values[4321] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(top_k_indices(values, 1), ElementsAre(4321));
}

}  // namespace
}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/sparse/threshold_choice.hh"

#include <cmath>

#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

using ChosenIndices = std::vector<std::uint32_t>;
using Boundaries = std::vector<std::int64_t>;

TEST(ThresholdChoice, TakesMagnitudesAboveAndNaN) {
  const std::vector<float> values = {1, -3, 0, 2, std::nanf(""), -INFINITY};
  EXPECT_EQ(indices_above(values, 2), (ChosenIndices{1, 4, 5}));
  EXPECT_EQ(indices_above(values, 0), (ChosenIndices{0, 1, 3, 4, 5})) << "zero is not above zero";
}

TEST(ThresholdChoice, ItsExactThresholdChoosesTheSame) {
  const std::vector<float> values = {1, -3, 0, 2, 5};
  const LargestEntries largest = choose_largest(values, 3);
  EXPECT_EQ(largest.indices, (ChosenIndices{1, 3, 4}));
  EXPECT_LT(largest.threshold, 2);
  EXPECT_GT(largest.threshold, 1.999F);
  EXPECT_EQ(indices_above(values, largest.threshold), largest.indices);
}

TEST(ThresholdChoice, LeavesZerosOut) {
  const std::vector<float> values = {0, 4, 0};
  const LargestEntries largest = choose_largest(values, 2);
  EXPECT_EQ(largest.indices, (ChosenIndices{1}));
  EXPECT_EQ(largest.threshold, 0);
  EXPECT_TRUE(choose_largest({}, 2).indices.empty());
}

TEST(ThresholdChoice, DividesIndicesEqually) {
  EXPECT_EQ(balanced_boundaries(ChosenIndices{1, 2, 3, 50, 51, 90}, 100, 3), (Boundaries{0, 3, 51, 100}));
  EXPECT_EQ(balanced_boundaries(ChosenIndices{1, 2}, 90, 3), (Boundaries{0, 30, 60, 90}))
      << "fewer indices than workers";
  EXPECT_EQ(balanced_boundaries(ChosenIndices{}, 5, 1), (Boundaries{0, 5}));
}

}  // namespace
}  // namespace thinpipe::trainer

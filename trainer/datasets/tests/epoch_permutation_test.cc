// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/epoch_permutation.hh"

#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

TEST(EpochPermutation, HoldsEveryIndexOnce) {
  for (const std::int64_t size : {0, 1, 2, 3, 100, 1025}) {
    std::vector<std::int64_t> permutation = epoch_permutation(size, 1, 0);
    std::sort(permutation.begin(), permutation.end());
    for (std::int64_t i = 0; i < size; ++i) ASSERT_EQ(permutation[static_cast<std::size_t>(i)], i);
    ASSERT_EQ(permutation.size(), static_cast<std::size_t>(size));
  }
}

// Pins the definition, on which runs on different machines and old records depend.
TEST(EpochPermutation, IsThisOne) {
  EXPECT_THAT(epoch_permutation(10, 1, 0), ::testing::ElementsAre(1, 0, 4, 8, 9, 7, 2, 3, 6, 5));
}

TEST(EpochPermutation, DependsOnSeedAndEpoch) {
  EXPECT_EQ(epoch_permutation(100, 1, 2), epoch_permutation(100, 1, 2));
  EXPECT_NE(epoch_permutation(100, 1, 2), epoch_permutation(100, 1, 3));
  EXPECT_NE(epoch_permutation(100, 1, 2), epoch_permutation(100, 2, 2));
}

TEST(EpochPermutation, AllPermutationsAreEquallyLikely) {
  std::map<std::vector<std::int64_t>, int> seen;
  constexpr int draws = 24000;
  for (int epoch = 0; epoch < draws; ++epoch) ++seen[epoch_permutation(4, 9, epoch)];
  EXPECT_EQ(seen.size(), 24U);
  for (const auto& [permutation, count] : seen) EXPECT_NEAR(count, 1000, 5 * 31);  // five standard deviations
}

}  // namespace
}  // namespace thinpipe::trainer

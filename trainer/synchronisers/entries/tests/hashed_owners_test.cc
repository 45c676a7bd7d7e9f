// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/entries/hashed_owners.hh"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

// Within five standard deviations of n/N; the standard deviation of a count is √(n/N·(1 - 1/N)).
void expect_balanced(const std::vector<std::int64_t>& counts, std::int64_t n) {
  const double share = 1.0 / static_cast<double>(counts.size());
  const double mean = static_cast<double>(n) * share;
  for (const std::int64_t count : counts) {
    EXPECT_NEAR(static_cast<double>(count), mean, 5 * std::sqrt(mean * (1 - share)));
  }
}

TEST(HashedOwners, GiveEveryEntryToOneWorker) {
  for (const std::int64_t n : {1, 2, 5, 1000}) {
    const HashedOwners owners(n, 3, 5);
    std::vector<std::uint32_t> all;
    for (int owner = 0; owner < 3; ++owner) {
      const auto list = owners.of(owner);
      EXPECT_TRUE(std::ranges::is_sorted(list));
      all.insert(all.end(), list.begin(), list.end());
    }
    std::ranges::sort(all);
    ASSERT_EQ(std::ssize(all), n);
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], i);
  }
}

TEST(HashedOwners, AreTheSameWhereverTheyAreMade) {
  const HashedOwners here(1000, 8, 5);
  const HashedOwners there(1000, 8, 5);
  for (int owner = 0; owner < 8; ++owner) EXPECT_TRUE(std::ranges::equal(here.of(owner), there.of(owner)));
  EXPECT_FALSE(std::ranges::equal(here.of(0), HashedOwners(1000, 8, 6).of(0))) << "different seeds";
}

TEST(HashedOwners, HaveAboutAsManyEntriesEachEvenOfOnePart) {
  constexpr std::int64_t n = 80000;
  const HashedOwners owners(n, 8, 5);
  std::vector<std::int64_t> of_all;
  std::vector<std::int64_t> of_the_first_eighth;
  for (int owner = 0; owner < 8; ++owner) {
    const auto list = owners.of(owner);
    of_all.push_back(std::ssize(list));
    of_the_first_eighth.push_back(std::ranges::lower_bound(list, n / 8) - list.begin());
  }
  expect_balanced(of_all, n);
  expect_balanced(of_the_first_eighth, n / 8);
}

}  // namespace
}  // namespace thinpipe::trainer

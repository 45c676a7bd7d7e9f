// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/sparse/random_block.hh"

#include <array>
#include <set>

#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

std::vector<EntryRange> block_of_step(std::uint32_t step, std::int64_t n, std::int64_t count) {
  return random_block({.seed = 7, .step = step, .bucket = 3}, n, count);
}

TEST(RandomBlock, HasThatManySuccessiveEntriesAndGoesOnAtTheBeginning) {
  constexpr std::int64_t n = 10;
  constexpr std::int64_t count = 4;
  bool has_wrapped = false;
  for (std::uint32_t step = 1; step <= 100; ++step) {
    const std::vector<EntryRange> block = block_of_step(step, n, count);
    const std::int64_t begin = block.front().begin;
    ASSERT_GE(begin, 0);
    if (begin + count <= n) {
      EXPECT_EQ(block, (std::vector<EntryRange>{{begin, count}}));
    } else {
      EXPECT_EQ(block, (std::vector<EntryRange>{{begin, n - begin}, {0, begin + count - n}}));
      has_wrapped = true;
    }
  }
  EXPECT_TRUE(has_wrapped);
}

// Each of 10 entries is kept with probability 0.4: 4,000 of 10,000 times, within five standard deviations.
TEST(RandomBlock, KeepsEachEntryEquallyOften) {
  std::array<int, 10> times{};
  for (std::uint32_t step = 1; step <= 10'000; ++step) {
    for (const EntryRange& range : block_of_step(step, 10, 4)) {
      for (std::int64_t i = range.begin; i < range.begin + range.size; ++i)
        ++times[static_cast<std::size_t>(i)];
    }
  }
  for (const int each : times) EXPECT_NEAR(each, 4'000, 245);
}

TEST(RandomBlock, OfAllEntriesHasEachOnce) {
  for (std::uint32_t step = 1; step <= 20; ++step) {
    std::set<std::int64_t> entries;
    for (const EntryRange& range : block_of_step(step, 5, 5)) {
      for (std::int64_t i = range.begin; i < range.begin + range.size; ++i)
        EXPECT_TRUE(entries.insert(i).second);
    }
    EXPECT_EQ(entries, (std::set<std::int64_t>{0, 1, 2, 3, 4}));
  }
  EXPECT_EQ(block_of_step(1, 1, 1), (std::vector<EntryRange>{{0, 1}}));
}

}  // namespace
}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/entries/sparse_entries.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/collectives/collective_error.hh"

namespace thinpipe::trainer {
namespace {

TEST(SparseEntries, AreReadAsTheyWereWritten) {
  const std::vector<SparseEntry> entries = {{0, 1.5F}, {7, -0.25F}};
  const std::vector<std::uint8_t> message = write_entries(entries);
  EXPECT_EQ(message.size(), 16);
  EXPECT_EQ(message[8], 7) << "the second index, little-endian";
  EXPECT_EQ(read_entries(message, 0, 8), entries);
  EXPECT_TRUE(read_entries(write_entries({}), 0, 0).empty());
}

TEST(SparseEntries, OutsideOfTheirRangeOrBrokenOffAreRefused) {
  const std::vector<std::uint8_t> message = write_entries(std::vector<SparseEntry>{{3, 1}, {7, 1}});
  EXPECT_THROW(read_entries(message, 0, 7), CollectiveError);
  EXPECT_THROW(read_entries(message, 4, 8), CollectiveError);
  EXPECT_THROW(read_entries(std::span(message).first(15), 0, 8), CollectiveError);
}

TEST(SparseEntries, WithTheSameIndexAreAddedAndOthersKept) {
  const std::vector<SparseEntry> a = {{2, 1}, {5, 2}, {9, 3}};
  const std::vector<SparseEntry> b = {{0, 10}, {5, 20}, {7, 30}, {12, 40}};
  const std::vector<SparseEntry> sum = {{0, 10}, {2, 1}, {5, 22}, {7, 30}, {9, 3}, {12, 40}};
  EXPECT_EQ(add_entries(a, b), sum);
  EXPECT_EQ(add_entries(b, a), sum);
  EXPECT_EQ(add_entries(a, {}), a);
  EXPECT_EQ(add_entries({}, b), b);
}

TEST(SparseEntries, AreReducedToTheLargest) {
  using ::testing::ElementsAre;
  std::vector<SparseEntry> entries = {{1, 2}, {3, -5}, {4, 2}, {8, 0}, {9, 4}};
  EXPECT_THAT(keep_largest(entries, 3), ElementsAre(SparseEntry{4, 2}, SparseEntry{8, 0}));
  EXPECT_THAT(entries, ElementsAre(SparseEntry{1, 2}, SparseEntry{3, -5}, SparseEntry{9, 4}));
  EXPECT_TRUE(keep_largest(entries, 3).empty());
  EXPECT_EQ(entries.size(), 3);
  EXPECT_EQ(keep_largest(entries, 0).size(), 3);
  EXPECT_TRUE(entries.empty());
}

}  // namespace
}  // namespace thinpipe::trainer

#include "trainer/synchronisers/sparse/sparse_entries.hh"

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

}  // namespace
}  // namespace thinpipe::trainer

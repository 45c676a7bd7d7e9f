// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/entries/entry_code.hh"

#include <gtest/gtest.h>

#include "trainer/collectives/collective_error.hh"

namespace thinpipe::trainer {
namespace {

constexpr IndexRange range{.begin = 100, .end = 200'000};
const std::vector<SparseEntry> entries = {{100, 1.5F}, {101, -2}, {65'700, 3}, {199'999, -0.25F}};

std::vector<std::uint8_t> message_of(const EntryCode& code, std::int64_t padded_bytes = 0) {
  std::vector<std::uint8_t> out = {9};  // of an earlier message
  code.append(entries, range, out, padded_bytes);
  out.erase(out.begin());
  return out;
}

TEST(EntryCode, MessagesHaveTheStatedSizeAndAreReadAgain) {
  for (const std::string& name : EntryCode::options()) {
    const EntryCode code(name);
    const std::vector<std::uint8_t> message = message_of(code);
    EXPECT_EQ(std::ssize(message), code.bytes(range.size(), 4)) << name;
    EXPECT_EQ(code.read(message, range), entries) << name;
    std::vector<std::uint8_t> empty;
    code.append({}, range, empty);
    EXPECT_TRUE(code.read(empty, range).empty()) << name;
  }
  EXPECT_EQ(EntryCode("u32").bytes(range.size(), 4), 4 * 8);
  EXPECT_EQ(EntryCode("u16").bytes(range.size(), 4), 4 + 4 * 4 + 4 * 6) << "a count, four parts, and entries";
}

TEST(EntryCode, PaddingIsNoEntry) {
  for (const std::string& name : EntryCode::options()) {
    const EntryCode code(name);
    const std::int64_t padded_bytes = code.bytes(range.size(), 7);
    const std::vector<std::uint8_t> message = message_of(code, padded_bytes);
    EXPECT_EQ(std::ssize(message), padded_bytes) << name;
    EXPECT_EQ(code.read(message, range), entries) << name;
  }
}

TEST(EntryCode, EntriesOutsideTheRangeAndMessagesThatBreakOffAreRefused) {
  for (const std::string& name : EntryCode::options()) {
    const EntryCode code(name);
    const std::vector<std::uint8_t> message = message_of(code);
    EXPECT_THROW(code.read(message, {.begin = 100, .end = 199'999}), CollectiveError) << name;
    EXPECT_THROW(code.read(message, {.begin = 0, .end = 3}), CollectiveError) << name;
    EXPECT_THROW(code.read(std::span(message).first(message.size() - 1), range), CollectiveError) << name;
    EXPECT_THROW(code.read(std::span(message).first(2), range), CollectiveError) << name;
  }
}

}  // namespace
}  // namespace thinpipe::trainer

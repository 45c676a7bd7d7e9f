// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/sparse_block.hh"

#include <cstring>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;

// A vector with an entry at every `distance`-th index, whose value is the index.
struct Vector {
  Vector(std::size_t elements, std::size_t distance) : blocks{elements}, values(elements), entries(blocks) {
    for (std::size_t i = 0; i < elements; i += distance) indices.push_back(static_cast<std::uint32_t>(i));
    entries = EntryMap(blocks, indices);
    std::iota(values.begin(), values.end(), 0.0F);
  }

  Blocks blocks;
  std::vector<float> values;
  std::vector<std::uint32_t> indices;
  EntryMap entries;
};

std::vector<std::byte> message_of(const Vector& vector, std::size_t block) {
  std::vector<std::byte> out;
  append_sparse_block(vector.entries.of(block), vector.blocks.of(std::span(vector.values), block), out);
  return out;
}

TEST(SparseBlock, ReadsBackWhatWasWritten) {
  for (const std::size_t elements : {1, 63, 64, 72, 1000, 16384, 40000}) {
    for (const std::size_t distance : {1, 2, 15, 17, 1000}) {
      const Vector vector(elements, distance);
      std::size_t bytes = 0;
      for (std::size_t b = 0; b < vector.blocks.count(); ++b) {
        const std::vector<std::byte> message = message_of(vector, b);
        bytes += message.size();
        EXPECT_EQ(message.size(),
                  sparse_block_bytes(vector.blocks.elements_of(b), entry_count(vector.entries.of(b))));
        EXPECT_EQ(message.size(), sparse_block_bytes(vector.blocks.elements_of(b), message));
        EntryMap read(vector.blocks);
        const auto values = read_sparse_block(message, vector.blocks.elements_of(b), read.of(b));
        EXPECT_TRUE(std::ranges::equal(read.of(b), vector.entries.of(b)));
        std::size_t next = 0;
        for_each_entry(read.of(b), [&](std::size_t index) {
          float value = -1;
          std::memcpy(&value, values.data() + 4 * next++, sizeof value);
          EXPECT_EQ(value, vector.blocks.of(std::span(vector.values), b)[index]);
        });
        EXPECT_EQ(values.size(), 4 * next);
      }
      EXPECT_EQ(bytes, sparse_bytes(vector.blocks, vector.indices));
    }
  }
}

TEST(SparseBlock, HasItsPlacesInTwoBytesOrInABitmapWhicheverIsShorter) {
  EXPECT_EQ(sparse_block_bytes(16384, 0), 4U);
  EXPECT_EQ(sparse_block_bytes(16384, 1), 4U + 2 + 4);
  EXPECT_EQ(sparse_block_bytes(16384, 1024), 4U + 2048 + 4096);
  EXPECT_EQ(sparse_block_bytes(16384, 1025), 4U + 2048 + 4100);
  EXPECT_EQ(sparse_block_bytes(16384, 16384), 4U + 2048 + 65536);
  EXPECT_EQ(sparse_block_bytes(9, 9), 4U + 2 + 36);
}

std::string refusal(std::size_t elements, std::vector<std::uint16_t> words) {
  EntryMap read(Blocks{elements});
  try {
    read_sparse_block(std::as_bytes(std::span(words)), elements, read.of(0));
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(SparseBlock, ThatNobodyWroteIsRefused) {
  constexpr std::uint16_t has_bitmap = 1 << 15;
  EXPECT_THAT(refusal(100, {101, 0}), HasSubstr("no block of 100 elements begins with 0x65"));
  EXPECT_THAT(refusal(100, {1, has_bitmap}), HasSubstr("begins with 0x80000001"));
  EXPECT_THAT(refusal(100, {2, 0, 7, 7, 0, 0, 0, 0}), HasSubstr("has index 7 after 7"));
  EXPECT_THAT(refusal(100, {1, 0, 100, 0, 0}), HasSubstr("has index 100 after -1"));
  constexpr auto all = static_cast<std::uint16_t>(-1);
  std::vector<std::uint16_t> other_count = {7, has_bitmap, all};
  other_count.resize(64);
  EXPECT_THAT(refusal(12, other_count), HasSubstr("bitmap does not have the number of entries"));
}

}  // namespace
}  // namespace thinpipe::trainer

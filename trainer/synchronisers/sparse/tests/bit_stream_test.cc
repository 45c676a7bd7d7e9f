// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/sparse/bit_stream.hh"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(BitStream, FillsEachByteFromItsLowestBit) {
  std::vector<std::uint8_t> bytes = {0xAA};
  BitWriter bits(bytes);
  bits.append(0b101, 3);
  bits.append_unary(2);  // 1 1 0
  bits.append(0b1110, 4);
  bits.finish();
  // 10|011|101, then 11; the first byte was there before.
  EXPECT_THAT(bytes, ElementsAre(0xAA, 0b10011101, 0b11));
}

TEST(BitStream, NothingIsNoByte) {
  std::vector<std::uint8_t> bytes;
  BitWriter bits(bytes);
  bits.append(0, 0);
  bits.finish();
  EXPECT_THAT(bytes, IsEmpty());
  EXPECT_EQ(BitReader(bytes).read(0), 0U);
}

TEST(BitStream, RefusesToReadBeyondItsEnd) {
  const std::vector<std::uint8_t> bytes = {0x0F, 0xFF};
  BitReader numbers(bytes);
  EXPECT_EQ(numbers.read(12), 0xF0FU);
  EXPECT_THROW(numbers.read(5), CollectiveError);
  EXPECT_EQ(numbers.read(4), 0xFU);
  BitReader runs(bytes);
  EXPECT_EQ(runs.read_unary(), 4U);
  EXPECT_EQ(runs.read(3), 0U);
  EXPECT_THROW(runs.read_unary(), CollectiveError) << "eight ones and no zero";
}

}  // namespace
}  // namespace thinpipe::trainer

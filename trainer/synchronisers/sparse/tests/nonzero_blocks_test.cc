// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/sparse/nonzero_blocks.hh"

#include <cmath>

#include <gtest/gtest.h>

#include "trainer/collectives/collective_error.hh"

namespace thinpipe::trainer {
namespace {

std::vector<float> through_a_message(const std::vector<float>& vector, std::int64_t block_size) {
  std::vector<float> out(vector.size());
  add_nonzero_blocks(write_nonzero_blocks(vector, block_size), block_size, out);
  return out;
}

TEST(NonzeroBlocks, CarriesABitForEachBlockAndTheValuesOfThoseSet) {
  // Blocks of 4, 4 and 2 entries. The second is all zero, including a negative zero.
  const std::vector<float> vector = {0, 5, 0, 0, 0, -0.0F, 0, 0, 0, 7};
  const std::vector<std::uint8_t> message = write_nonzero_blocks(vector, 4);
  EXPECT_EQ(std::ssize(message), 1 + 4 * (4 + 2));
  EXPECT_EQ(std::ssize(message), nonzero_blocks_bytes(10, 4, 6));
  EXPECT_EQ(message[0], 0b101);
  EXPECT_EQ(through_a_message(vector, 4), vector);
}

TEST(NonzeroBlocks, AddsToWhatIsThere) {
  std::vector<float> sums = {1, 2, 3};
  const std::vector<float> vector = {0, 0, 4};
  add_nonzero_blocks(write_nonzero_blocks(vector, 2), 2, sums);
  EXPECT_EQ(sums, (std::vector<float>{1, 2, 7}));
}

TEST(NonzeroBlocks, CarriesBitmapsOfEveryLength) {
  for (std::size_t n = 0; n <= 17; ++n) {
    std::vector<float> vector(n);
    for (std::size_t i = 0; i < n; i += 3) vector[i] = static_cast<float>(i + 1);
    for (const std::int64_t block_size : {1, 2, 5})
      EXPECT_EQ(through_a_message(vector, block_size), vector) << n;
  }
}

TEST(NonzeroBlocks, DoesNotTakeNaNForZero) {
  const std::vector<float> out = through_a_message({0, 0, 0, std::nanf("")}, 2);
  EXPECT_EQ(out[1], 0);
  EXPECT_TRUE(std::isnan(out[3]));
}

TEST(NonzeroBlocks, AMessageOfAnotherVectorIsRefused) {
  const std::vector<float> vector = {1, 2, 3, 0, 0};
  const std::vector<std::uint8_t> message =
      write_nonzero_blocks(vector, 2);  // a bitmap of 3 blocks, 4 values
  std::vector<float> shorter(3);        // 2 blocks: 3 values
  EXPECT_THROW(add_nonzero_blocks(message, 2, shorter), CollectiveError);
  std::vector<float> same(5);
  EXPECT_THROW(add_nonzero_blocks(std::span(message).first(16), 2, same), CollectiveError);
  EXPECT_THROW(add_nonzero_blocks({}, 2, same), CollectiveError);
}

}  // namespace
}  // namespace thinpipe::trainer

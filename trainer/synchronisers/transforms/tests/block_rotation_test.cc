// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/transforms/block_rotation.hh"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

constexpr RandomStream rotation_stream{.seed = 7, .step = 1};

double squared_norm(std::span<const float> values) {
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
}

TEST(BlockRotation, FillsUpTheLastBlockOnly) {
  EXPECT_EQ(BlockRotation::padded_size(100, 64), 64 + 64);
  EXPECT_EQ(BlockRotation::padded_size(128, 64), 128);
  EXPECT_EQ(BlockRotation::padded_size(129, 64), 128 + 1);
  EXPECT_EQ(BlockRotation::padded_size(5, 64), 8);
  const BlockRotation rotation(100, 64, rotation_stream);
  ASSERT_EQ(rotation.blocks().size(), 2U);
  EXPECT_EQ(rotation.blocks()[1].begin, 64U);
  EXPECT_EQ(rotation.blocks()[1].entries, 36U);
  EXPECT_EQ(rotation.blocks()[1].padded, 64U);
}

TEST(BlockRotation, GoesBack) {
  for (const std::int64_t n : {1, 3, 64, 100}) {
    std::vector<float> values(static_cast<std::size_t>(n));
    std::iota(values.begin(), values.end(), -5.0F);
    const BlockRotation rotation(n, 64, rotation_stream);
    std::vector<float> rotated = rotation.rotate(values);
    EXPECT_NEAR(squared_norm(rotated), squared_norm(values), 1e-5 * squared_norm(values));
    std::vector<float> back(values.size());
    rotation.rotate_back(rotated, back);
    for (std::size_t i = 0; i < back.size(); ++i) EXPECT_NEAR(back[i], values[i], 1e-4) << n;
  }
}

TEST(BlockRotation, SpreadsOneEntryOverItsBlock) {
  std::vector<float> values(128);
  values[70] = 8;
  const std::vector<float> rotated = BlockRotation(128, 64, rotation_stream).rotate(values);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(rotated[i], 0);
  for (std::size_t i = 64; i < 128; ++i) EXPECT_EQ(std::abs(rotated[i]), 1);
}

// Without signs a constant vector would be concentrated in one entry.
TEST(BlockRotation, SpreadsAConstantToo) {
  const std::vector<float> values(1024, 1);
  const std::vector<float> rotated = BlockRotation(1024, 1024, rotation_stream).rotate(values);
  for (const float value : rotated) EXPECT_LT(std::abs(value), 6) << "six standard deviations";
}

// A block's first entry is the signed sum of all entries.
TEST(BlockRotation, DrawsASignForEachEntry) {
  constexpr std::size_t n = 69;  // a block of 64 and one of 8, which is less than a word of signs
  constexpr std::uint32_t draws = 20;
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<float> values(n);
    values[i] = 1;
    std::uint32_t negative = 0;
    for (std::uint32_t step = 1; step <= draws; ++step) {
      const BlockRotation rotation(n, 64, {.seed = 7, .step = step});
      if (rotation.rotate(values)[i / 64 * 64] < 0) ++negative;
    }
    EXPECT_GT(negative, 0U) << i;
    EXPECT_LT(negative, draws) << i;
  }
}

}  // namespace
}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// The element of an all-reduce with Reduction::scaled_sum.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "common/protocol/reduction.hh"
#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {

// Up to 256 numbers as bytes with a common scale (trainer/base/byte_codes.hh). A tensor of blocks is uint8.
struct ScaledBlock {
  static constexpr std::size_t entries = 256;

  float scale = 0;
  std::array<std::int8_t, entries> codes = {};
};
static_assert(sizeof(ScaledBlock) == reduced_block_bytes);

// Returns the bytes of the blocks of n entries.
constexpr std::int64_t scaled_block_bytes(std::int64_t n) {
  constexpr std::int64_t entries = ScaledBlock::entries;
  return (n / entries + (n % entries == 0 ? 0 : 1)) * reduced_block_bytes;
}

// Returns the blocks of the values. A block with an entry that is not finite decodes to NaN.
torch::Tensor encode_scaled_blocks(std::span<const float> values);

// Adds what encode_scaled_blocks() of as many values decodes to.
void add_scaled_blocks(const torch::Tensor& blocks, std::span<float> values);

// Reduce for scaled blocks: decodes, adds in float32 and encodes the sum.
void sum_scaled_blocks(void* into, std::span<const void* const> parts, std::size_t count);

}  // namespace thinpipe::trainer

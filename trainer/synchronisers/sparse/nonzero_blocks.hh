// SPDX-License-Identifier: Apache-2.0
// A message with a vector's non-zero blocks: a bit per block, then the values of non-zero blocks, float32
// little-endian. A NaN makes its block non-zero; the last block may be shorter than the others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe::trainer {

// Returns the bytes of a message with `values` of a vector's n entries.
std::int64_t nonzero_blocks_bytes(std::int64_t n, std::int64_t block_size, std::int64_t values);

std::vector<std::uint8_t> write_nonzero_blocks(std::span<const float> vector, std::int64_t block_size);

// Adds the message to `vector`. Throws CollectiveError if it is not a message of such a vector, which means
// that the workers have diverged.
void add_nonzero_blocks(std::span<const std::uint8_t> message, std::int64_t block_size,
                        std::span<float> vector);

}  // namespace thinpipe::trainer

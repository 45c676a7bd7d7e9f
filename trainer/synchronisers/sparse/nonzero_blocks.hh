// A vector without its blocks of zeros as a message: a bit for each block, and the values of those that are
// not zero, float32 little-endian. A NaN makes its block non-zero; the last block may be shorter than the
// others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe::trainer {

// Of a message with `values` of the n entries of a vector.
std::int64_t nonzero_blocks_bytes(std::int64_t n, std::int64_t block_size, std::int64_t values);

std::vector<std::uint8_t> write_nonzero_blocks(std::span<const float> vector, std::int64_t block_size);

// vector += the message's. Throws CollectiveError where it is not a message of such a vector: the workers
// have come apart.
void add_nonzero_blocks(std::span<const std::uint8_t> message, std::int64_t block_size,
                        std::span<float> vector);

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// Parts of messages as deflate streams (RFC 1951), made by zlib. They have neither zlib's header nor its
// checksum, and end where their last block ends.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe::trainer {

enum class DeflateStages {
  all,      // repeated strings, then Huffman codes
  huffman,  // Huffman codes of single bytes only
};

// Returns the largest size of a stream for `bytes` bytes.
std::int64_t max_deflated_bytes(std::int64_t bytes);

void append_deflated(std::span<const std::uint8_t> bytes, DeflateStages stages,
                     std::vector<std::uint8_t>& out);

// Decompresses the stream that `in` begins with, and removes it from there. Throws CollectiveError if it is
// damaged or has more than `most` bytes.
std::vector<std::uint8_t> read_deflated(std::span<const std::uint8_t>& in, std::size_t most);

}  // namespace thinpipe::trainer

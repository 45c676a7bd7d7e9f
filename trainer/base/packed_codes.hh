// SPDX-License-Identifier: Apache-2.0
// Small signed integers packed into the fewest bits that hold them, little-endian: the messages of
// quantisers, and the form in which sums of such integers are sent.
#pragma once

#include <cstdint>
#include <span>

namespace thinpipe::trainer {

// A group's codes end on a whole byte: a group takes as many bytes as a code has bits.
inline constexpr std::size_t codes_in_group = 8;

// Returns the largest code of that many bits; codes range from -largest to largest.
constexpr int largest_code(int bits) {
  return (1 << (bits - 1)) - 1;
}

constexpr std::int64_t packed_code_bytes(std::int64_t codes, int bits) {
  return (codes * bits + 7) / 8;
}

// Packs codes. bits: 2 to 8. packed: packed_code_bytes(codes.size(), bits) bytes; the last byte's unused bits
// stand for codes of 0.
void pack_codes(std::span<const std::int8_t> codes, int bits, std::span<std::uint8_t> packed);

// Unpacks codes: the inverse of pack_codes().
void unpack_codes(std::span<const std::uint8_t> packed, int bits, std::span<std::int8_t> codes);

}  // namespace thinpipe::trainer

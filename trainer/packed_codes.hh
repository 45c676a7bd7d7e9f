// Small signed integers packed into as few bits each as hold them, little end first: what quantisers send,
// and what sums of such integers travel as.
#pragma once

#include <cstdint>
#include <span>

namespace thinpipe::trainer {

// So many codes end on a whole byte, whatever their bits: they take as many bytes as one has bits.
inline constexpr std::size_t codes_in_group = 8;

// The largest code of so many bits; codes go from -largest to largest.
constexpr int largest_code(int bits) {
  return (1 << (bits - 1)) - 1;
}

constexpr std::int64_t packed_code_bytes(std::int64_t codes, int bits) {
  return (codes * bits + 7) / 8;
}

// bits: 2 to 8. packed: packed_code_bytes(codes.size(), bits) bytes; unused bits of the last stand for 0 in
// whole codes.
void pack_codes(std::span<const std::int8_t> codes, int bits, std::span<std::uint8_t> packed);

// The inverse.
void unpack_codes(std::span<const std::uint8_t> packed, int bits, std::span<std::int8_t> codes);

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
#include "trainer/base/packed_codes.hh"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>

namespace thinpipe::trainer {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr int min_bits = 2;
constexpr int max_bits = 8;

// Returns a word with `bits` ones in every lane, starting `at` bits above the lane's low end.
// lane: bits per lane.
constexpr std::uint64_t ones(int bits, int lane, int at = 0) {
  const std::uint64_t one_lane = ((std::uint64_t{1} << bits) - 1) << at;
  std::uint64_t all = 0;
  for (int begin = 0; begin < 64; begin += lane) all |= one_lane << begin;
  return all;
}

// A group's codes are in a word, one per byte, biased so that none is negative. Packing joins neighbours into
// pairs, pairs into fours and fours into eights.
template <int bits>
std::uint64_t join(std::uint64_t word) {
  word = (word & ones(bits, 16)) | ((word >> (8 - bits)) & ones(bits, 16, bits));
  word = (word & ones(2 * bits, 32)) | ((word >> (16 - 2 * bits)) & ones(2 * bits, 32, 2 * bits));
  return (word & ones(4 * bits, 64)) | ((word >> (32 - 4 * bits)) & ones(4 * bits, 64, 4 * bits));
}
template <int bits>
std::uint64_t part(std::uint64_t word) {
  word = (word & ones(4 * bits, 64)) | ((word & ones(4 * bits, 64, 4 * bits)) << (32 - 4 * bits));
  word = (word & ones(2 * bits, 32)) | ((word & ones(2 * bits, 32, 2 * bits)) << (16 - 2 * bits));
  return (word & ones(bits, 16)) | ((word & ones(bits, 16, bits)) << (8 - bits));
}

template <int bits>
void pack_group(const std::int8_t* codes, std::uint8_t* packed) {
  std::array<std::uint8_t, codes_in_group> biased{};
  for (std::size_t i = 0; i < codes_in_group; ++i) {
    biased[i] = static_cast<std::uint8_t>(codes[i] + largest_code(bits));
  }
  const std::uint64_t word = join<bits>(std::bit_cast<std::uint64_t>(biased));
  std::memcpy(packed, &word, bits);
}

template <int bits>
void unpack_group(const std::uint8_t* packed, std::int8_t* codes) {
  std::uint64_t word = 0;
  std::memcpy(&word, packed, bits);
  const auto biased = std::bit_cast<std::array<std::uint8_t, codes_in_group>>(part<bits>(word));
  for (std::size_t i = 0; i < codes_in_group; ++i) {
    codes[i] = static_cast<std::int8_t>(biased[i] - largest_code(bits));
  }
}

template <int bits>
void pack(std::span<const std::int8_t> codes, std::span<std::uint8_t> packed) {
  const std::size_t groups = codes.size() / codes_in_group;
  for (std::size_t g = 0; g < groups; ++g) pack_group<bits>(&codes[g * codes_in_group], &packed[g * bits]);
  const auto rest = codes.subspan(groups * codes_in_group);
  if (rest.empty()) return;
  std::array<std::int8_t, codes_in_group> padded{};
  std::ranges::copy(rest, padded.begin());
  std::array<std::uint8_t, bits> last{};
  pack_group<bits>(padded.data(), last.data());
  const auto tail = packed.subspan(groups * bits);
  std::copy_n(last.begin(), tail.size(), tail.begin());
}

template <int bits>
void unpack(std::span<const std::uint8_t> packed, std::span<std::int8_t> codes) {
  const std::size_t groups = codes.size() / codes_in_group;
  for (std::size_t g = 0; g < groups; ++g) unpack_group<bits>(&packed[g * bits], &codes[g * codes_in_group]);
  const auto rest = codes.subspan(groups * codes_in_group);
  if (rest.empty()) return;
  std::array<std::uint8_t, bits> last{};
  std::ranges::copy(packed.subspan(groups * bits), last.begin());
  std::array<std::int8_t, codes_in_group> padded{};
  unpack_group<bits>(last.data(), padded.data());
  std::copy_n(padded.begin(), rest.size(), rest.begin());
}

// Calls function.operator()<bits>() for the run-time value `bits`.
void with_bits(int bits, const auto& function) {
  [&]<int... more>(std::integer_sequence<int, more...>) {
    ((bits == min_bits + more ? function.template operator()<min_bits + more>() : void()), ...);
  }
  (std::make_integer_sequence<int, max_bits - min_bits + 1>{});
}

}  // namespace

void pack_codes(std::span<const std::int8_t> codes, int bits, std::span<std::uint8_t> packed) {
  with_bits(bits, [&]<int known>() { pack<known>(codes, packed); });
}

void unpack_codes(std::span<const std::uint8_t> packed, int bits, std::span<std::int8_t> codes) {
  with_bits(bits, [&]<int known>() { unpack<known>(packed, codes); });
}

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/quantised/sign_code.hh"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace thinpipe::trainer {
namespace {

constexpr std::size_t signs_per_byte = 8;

using ByteOfSigns = std::array<std::int8_t, signs_per_byte>;

// The signs encoded in each byte.
constexpr std::array<ByteOfSigns, 256> signs_of_byte = [] {
  std::array<ByteOfSigns, 256> all{};
  for (std::size_t byte = 0; byte < all.size(); ++byte) {
    for (std::size_t b = 0; b < signs_per_byte; ++b) all[byte][b] = ((byte >> b) & 1U) != 0 ? 1 : -1;
  }
  return all;
}();

// values: one byte of signs or, at the end, fewer.
std::uint8_t byte_of_signs(const auto& values) {
  std::uint32_t byte = 0;
  for (std::size_t b = 0; b < values.size(); ++b) {
    byte |= static_cast<std::uint32_t>(values[b] >= 0 ? 1 : 0) << b;
  }
  return static_cast<std::uint8_t>(byte);
}

}  // namespace

void pack_signs(std::span<const float> values, std::span<std::uint8_t> packed) {
  const std::size_t whole = values.size() / signs_per_byte;
  for (std::size_t i = 0; i < whole; ++i) {
    packed[i] = byte_of_signs(values.subspan(i * signs_per_byte).first<signs_per_byte>());
  }
  if (whole < packed.size()) packed[whole] = byte_of_signs(values.subspan(whole * signs_per_byte));
}

void unpack_signs(std::span<const std::uint8_t> packed, std::span<std::int8_t> signs) {
  const std::size_t whole = signs.size() / signs_per_byte;
  for (std::size_t i = 0; i < whole; ++i) {
    std::memcpy(&signs[i * signs_per_byte], signs_of_byte[packed[i]].data(), signs_per_byte);
  }
  const std::span<std::int8_t> rest = signs.subspan(whole * signs_per_byte);
  if (!rest.empty()) std::copy_n(signs_of_byte[packed[whole]].begin(), rest.size(), rest.begin());
}

void add_signs(std::span<const std::uint8_t> packed, std::span<const std::int64_t> group_sizes,
               std::span<const SignLevels> levels, std::span<float> values) {
  std::vector<std::int8_t> signs(values.size());
  unpack_signs(packed, signs);
  std::size_t begin = 0;
  for (std::size_t g = 0; g < group_sizes.size(); ++g) {
    const SignLevels group = levels[g];
    const std::size_t end = begin + static_cast<std::size_t>(group_sizes[g]);
    for (std::size_t i = begin; i < end; ++i) values[i] += signs[i] > 0 ? group.positive : group.negative;
    begin = end;
  }
}

}  // namespace thinpipe::trainer

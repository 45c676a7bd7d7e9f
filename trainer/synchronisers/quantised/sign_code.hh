// SPDX-License-Identifier: Apache-2.0
// Values sent as their signs, one bit each, and the levels that the signs decode to.
#pragma once

#include <cstdint>
#include <span>

namespace thinpipe::trainer {

constexpr std::int64_t sign_bytes(std::int64_t values) {
  return (values + 7) / 8;
}

// Sets bit i % 8 of byte i / 8 if values[i] >= 0, which includes both zeros; NaN clears it. packed:
// sign_bytes bytes; the unused bits of the last byte are 0.
void pack_signs(std::span<const float> values, std::span<std::uint8_t> packed);

// Sets signs[i] to 1 if its bit is set, otherwise to -1.
void unpack_signs(std::span<const std::uint8_t> packed, std::span<std::int8_t> signs);

// The values that the signs of a group decode to.
struct SignLevels {
  float negative = 0;
  float positive = 0;
};

// Adds to values[i] the level of its sign in its group. Groups are consecutive; group_sizes add up to
// values.size(), and each group has its levels.
void add_signs(std::span<const std::uint8_t> packed, std::span<const std::int64_t> group_sizes,
               std::span<const SignLevels> levels, std::span<float> values);

}  // namespace thinpipe::trainer

// Values that travel as their signs, a bit each, and what the signs stand for.
#pragma once

#include <cstdint>
#include <span>

namespace thinpipe::trainer {

constexpr std::int64_t sign_bytes(std::int64_t values) {
  return (values + 7) / 8;
}

// Bit i % 8 of byte i / 8 is set where values[i] >= 0, as for both zeros; NaN's is not. packed: sign_bytes of
// them; the unused bits of the last are 0.
void pack_signs(std::span<const float> values, std::span<std::uint8_t> packed);

// signs[i] = 1 where the bit is set, else -1.
void unpack_signs(std::span<const std::uint8_t> packed, std::span<std::int8_t> signs);

// What the signs of a group of values stand for.
struct SignLevels {
  float negative = 0;
  float positive = 0;
};

// values[i] += the level of its sign in its group. Groups lie one after another; group_sizes add up to
// values.size(), and each has its levels.
void add_signs(std::span<const std::uint8_t> packed, std::span<const std::int64_t> group_sizes,
               std::span<const SignLevels> levels, std::span<float> values);

}  // namespace thinpipe::trainer

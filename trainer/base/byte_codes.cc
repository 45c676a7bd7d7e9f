// SPDX-License-Identifier: Apache-2.0
#include "trainer/base/byte_codes.hh"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace thinpipe::trainer {
namespace {

constexpr float most = 127;  // the largest code

}  // namespace

// Compares bits, which order like magnitudes, with NaN above infinity. A maximum of integers is associative,
// so the compiler may vectorise it.
float largest_magnitude(std::span<const float> values) {
  std::int32_t largest = 0;
  for (const float value : values) {
    const std::int32_t bits = std::bit_cast<std::int32_t>(value) & 0x7fffffff;
    largest = largest < bits ? bits : largest;
  }
  const auto scale = std::bit_cast<float>(largest);
  return std::isfinite(scale) ? scale : std::numeric_limits<float>::infinity();
}

void round_to_bytes(std::span<const float> values, float scale, std::span<std::int8_t> codes) {
  if (scale == 0 || std::isinf(scale)) {
    std::ranges::fill(codes, std::int8_t{0});
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    codes[i] = static_cast<std::int8_t>(std::lrint(most * (values[i] / scale)));
}

void add_bytes(std::span<const std::int8_t> codes, float scale, std::span<float> values) {
  const float unit = scale / most;
  for (std::size_t i = 0; i < codes.size(); ++i) values[i] += unit * static_cast<float>(codes[i]);
}

}  // namespace thinpipe::trainer

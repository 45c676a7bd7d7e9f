// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/quantised/ternary.hh"

#include <algorithm>
#include <cmath>
#include <limits>

#include "trainer/base/byte_codes.hh"
#include "trainer/synchronisers/quantised/sums.hh"

namespace thinpipe::trainer {

float clipped_ternary_scale(std::span<const float> values, double clip) {
  constexpr std::size_t min_values_to_clip = 16;
  constexpr double min_variation = 1e-3;  // standard deviation over mean
  const float largest = largest_magnitude(values);
  if (clip == 0 || values.size() < min_values_to_clip || std::isinf(largest)) return largest;
  const auto n = static_cast<double>(values.size());
  const double mean = sum_of(values, [](double value) { return value; }) / n;
  const double square = sum_of(values, [](double value) { return value * value; }) / n;
  const double deviation = std::sqrt(std::max(0.0, square - mean * mean));
  if (deviation < min_variation * std::abs(mean)) return largest;
  return std::min(largest, static_cast<float>(clip * deviation));
}

void draw_ternary(std::span<const float> values, float scale, std::span<const float> uniform,
                  std::span<std::int8_t> codes) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool fires = uniform[i] < std::abs(values[i]) / scale;
    const std::int32_t sign = values[i] < 0 ? -1 : 1;
    codes[i] = static_cast<std::int8_t>(fires ? sign : 0);
  }
}

void round_ternary(std::span<const float> values, float scale, std::span<std::int8_t> codes) {
  // At least the smallest positive number, so that zero is below it.
  const float nearest_far = std::max(0.5F * scale, std::numeric_limits<float>::denorm_min());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool far = std::abs(values[i]) >= nearest_far;
    const std::int32_t sign = values[i] < 0 ? -1 : 1;
    codes[i] = static_cast<std::int8_t>(far ? sign : 0);
  }
}

void expand_ternary(std::span<const std::int8_t> codes, float unit, std::span<float> values) {
  for (std::size_t i = 0; i < codes.size(); ++i) values[i] = unit * static_cast<float>(codes[i]);
}

}  // namespace thinpipe::trainer

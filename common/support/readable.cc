// SPDX-License-Identifier: Apache-2.0
#include "common/support/readable.hh"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

namespace thinpipe {

std::string format_bytes(double bytes) {
  static constexpr std::array units = {"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < units.size()) {
    bytes /= 1000;
    ++unit;
  }
  return fmt::format("{} {}", three_digits(bytes, bytes, unit == 0 ? 0 : 2), units[unit]);
}

std::string three_digits(double value, double size, int most_decimals) {
  // A number that is rounded up to the next power of ten, such as 9.996, has one digit more before the point.
  const double power = size == 0 ? 0 : std::floor(std::log10(std::abs(size) / 0.9995));
  return fmt::format("{:.{}f}", value, std::clamp(2 - static_cast<int>(power), 0, most_decimals));
}

std::string format_time(double seconds) {
  if (seconds >= 10) return three_digits(seconds, seconds) + " s";
  return three_digits(1000 * seconds, 1000 * seconds) + " ms";
}

std::string format_duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(std::max(0.0, seconds)));
  if (whole < 100) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

}  // namespace thinpipe

// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/quantised/thc_table.hh"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace thinpipe::trainer {
namespace {

double normal_density(double y) {
  return std::exp(-y * y / 2) / std::sqrt(2 * std::numbers::pi);
}

double normal_below(double y) {
  return std::erfc(-y / std::numbers::sqrt2) / 2;
}

// Returns the t that a normal variable exceeds in magnitude with probability `clip`, by bisection.
double normal_bound(double clip) {
  double low = 0;
  double high = 40;  // beyond it erfc is 0
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::numbers::sqrt2) > clip ? low : high) = middle;
  }
  return low;
}

// Returns the squared error of drawing between a and b without bias, over the normal variables between them:
//   ∫ (y - a)(b - y)·φ(y) dy from a to b
double drawing_error(double a, double b) {
  return b * normal_density(a) - a * normal_density(b) - (1 + a * b) * (normal_below(b) - normal_below(a));
}

// Dynamic programming over the levels below the middle; the others mirror them. The minimum error of i levels
// up to a point is that of i - 1 levels up to an earlier point, plus that of the step between the points.
std::vector<std::uint8_t> best_levels(int bits, int granularity, double bound) {
  const auto half = std::size_t{1} << (bits - 1);
  const auto levels_below_middle = static_cast<std::size_t>(granularity + 1) / 2;  // below the middle
  const auto error = [&](std::size_t a, std::size_t b) {
    const auto grid = [&](std::size_t position) {
      return bound * (2.0 * static_cast<double>(position) / granularity - 1);
    };
    return drawing_error(grid(a), grid(b));
  };
  constexpr double unreachable = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> least(half, std::vector<double>(levels_below_middle, unreachable));
  std::vector<std::vector<std::size_t>> before(half, std::vector<std::size_t>(levels_below_middle));
  least[0][0] = 0;
  for (std::size_t i = 1; i < half; ++i) {
    for (std::size_t b = i; b < levels_below_middle; ++b) {
      for (std::size_t a = i - 1; a < b; ++a) {
        const double sum = least[i - 1][a] + 2 * error(a, b);
        if (sum < least[i][b]) {
          least[i][b] = sum;
          before[i][b] = a;
        }
      }
    }
  }
  const auto with_middle = [&](std::size_t position) {
    return least[half - 1][position] + error(position, static_cast<std::size_t>(granularity) - position);
  };
  std::size_t position = half - 1;
  for (std::size_t other = half; other < levels_below_middle; ++other) {
    if (with_middle(other) < with_middle(position)) position = other;
  }
  std::vector<std::uint8_t> levels(2 * half);
  for (std::size_t i = half; i-- > 0; position = before[i][position]) {
    levels[i] = static_cast<std::uint8_t>(position);
    levels[2 * half - 1 - i] = static_cast<std::uint8_t>(granularity - static_cast<int>(position));
  }
  return levels;
}

}  // namespace

ThcTable::ThcTable(int bits, int granularity, double clip)
    : bits_(bits),
      granularity_(granularity),
      bound_(normal_bound(clip)),
      levels_(best_levels(bits, granularity, bound_)) {
  for (std::size_t code = 0; code + 1 < levels_.size(); ++code) {
    const int level = levels_[code];
    const int next = levels_[code + 1];
    const Cell cell{static_cast<float>(level), static_cast<float>(next - level),
                    static_cast<std::uint8_t>(code)};
    cells_.insert(cells_.end(), static_cast<std::size_t>(next - level), cell);
  }
  const auto last = static_cast<std::uint8_t>(levels_.size() - 1);
  cells_.push_back({static_cast<float>(granularity), 1, last});
}

void ThcTable::encode(std::span<const float> values, float step, std::span<const float> uniform,
                      std::span<std::uint8_t> codes) const {
  if (step == 0 || !std::isfinite(step)) {
    std::ranges::fill(codes, std::uint8_t{0});
    return;
  }
  const auto last = static_cast<float>(granularity_);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float position = values[i] / step + last / 2;
    codes[i] =
        draw(position > 0 ? std::min(position, last) : 0, uniform[i]);  // in this order a NaN becomes 0
  }
}

void ThcTable::decode(std::span<const std::uint16_t> sums, int workers, float step,
                      std::span<float> values) const {
  const int middle = workers * granularity_;
  const float half_step = step / static_cast<float>(2 * workers);
  for (std::size_t i = 0; i < sums.size(); ++i)
    values[i] = half_step * static_cast<float>(2 * sums[i] - middle);
}

}  // namespace thinpipe::trainer

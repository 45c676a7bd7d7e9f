// SPDX-License-Identifier: Apache-2.0
// THC's table of levels: the 2^bits points, on a grid of equal steps, that normally distributed values are
// rounded to, chosen to minimise the rounding error. Sums of points are points of a longer grid, for any
// table.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe::trainer {

class ThcTable {
 public:
  // Creates a grid of points 0 to `granularity`, from -bound() to bound() standard deviations. granularity:
  // at least 2^bits - 1, which makes every point a level; at most 255.
  ThcTable(int bits, int granularity, double clip);

  int bits() const { return bits_; }
  int granularity() const { return granularity_; }

  // Returns the bound that a normal variable exceeds in magnitude with probability `clip`.
  double bound() const { return bound_; }

  // Returns T: ascending, T[0] = 0, T[last] = granularity, T[i] + T[last - i] = granularity.
  const std::vector<std::uint8_t>& levels() const { return levels_; }

  // Returns the code of one of the two levels around `position`, 0 <= position <= granularity, which need not
  // be a grid point. If `uniform` is uniform on [0, 1), the expected level is the position.
  std::uint8_t draw(float position, float uniform) const {
    const Cell& cell = cells_[static_cast<std::size_t>(position)];
    return static_cast<std::uint8_t>(cell.code + (uniform * cell.width < position - cell.level ? 1 : 0));
  }

  // Draws codes[i] for values[i], clipped, on a grid with the given step, centred at 0. All codes are 0 if
  // the step is 0 or not finite.
  void encode(std::span<const float> values, float step, std::span<const float> uniform,
              std::span<std::uint8_t> codes) const;

  // Decodes the mean over workers: sums[i] is the sum of their levels.
  void decode(std::span<const std::uint16_t> sums, int workers, float step, std::span<float> values) const;

 private:
  // The level at or below a grid point, and the distance to the next level.
  struct Cell {
    float level;
    float width;
    std::uint8_t code;
  };

  int bits_;
  int granularity_;
  double bound_;
  std::vector<std::uint8_t> levels_;
  std::vector<Cell> cells_;  // by grid point; the last is for the last point alone
};

}  // namespace thinpipe::trainer

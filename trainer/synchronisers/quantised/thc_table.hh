// THC's table of levels: of a grid of equal steps, the 2^bits places that values of a normal distribution are
// rounded to, chosen so that rounding errs least. Sums of places are places of a longer grid, whatever the
// table.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe::trainer {

class ThcTable {
 public:
  // A grid of places 0 to `granularity`, from -bound() to bound() standard deviations. granularity: at least
  // 2^bits - 1, where every place is a level; at most 255.
  ThcTable(int bits, int granularity, double clip);

  int bits() const { return bits_; }
  int granularity() const { return granularity_; }

  // A normal variable lies beyond it, on either side, with probability `clip`.
  double bound() const { return bound_; }

  // T: ascending, T[0] = 0, T[last] = granularity, T[i] + T[last - i] = granularity.
  const std::vector<std::uint8_t>& levels() const { return levels_; }

  // The code of one of the two levels around a place, which need not be whole; the upper one with the
  // probability that makes their mean the place, where `uniform` is uniform on [0, 1). 0 <= place <=
  // granularity.
  std::uint8_t draw(float place, float uniform) const {
    const Cell& cell = cells_[static_cast<std::size_t>(place)];
    return static_cast<std::uint8_t>(cell.code + (uniform * cell.width < place - cell.level ? 1 : 0));
  }

  // codes[i]: drawn for values[i], clipped, on a grid of that step around 0. All of it is 0 where the step is
  // 0 or not finite.
  void encode(std::span<const float> values, float step, std::span<const float> uniform,
              std::span<std::uint8_t> codes) const;

  // The inverse, of the mean over workers: sums[i] is the sum of their levels.
  void decode(std::span<const std::uint16_t> sums, int workers, float step, std::span<float> values) const;

 private:
  // Between two places: the level below it, and how far the next one is from that.
  struct Cell {
    float level;
    float width;
    std::uint8_t code;
  };

  int bits_;
  int granularity_;
  double bound_;
  std::vector<std::uint8_t> levels_;
  std::vector<Cell> cells_;  // by place; the last is for the last place alone
};

}  // namespace thinpipe::trainer

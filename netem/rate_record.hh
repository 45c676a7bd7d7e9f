// How one direction of a link kept its cap during a run: pure arithmetic on successive counters.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "netem/counters.hh"
#include "netem/fidelity.hh"
#include "netem/shape.hh"

namespace thinpipe::netem {

// A slow link may be the emulation's fault or a pause of its senders. Readings of the backlog tell the two
// apart: the share of readings that find frames waiting estimates, without bias, the share of time in which
// frames wait, and in that time a faithful shaper sends at its cap. So over any window
//   rate while backlogged = bytes / (cap * backlogged time)
// is at least 1, up to the error of the estimate, however short the pauses in it are; it is below 1 only when
// frames wait and the shaper does not send them. (It is above 1 by what passes without waiting.)
class RateRecord {
 public:
  // How often to take readings. Any period gives an unbiased estimate; a shorter one gives more windows.
  static constexpr std::chrono::milliseconds sampling_period{4};

  // A window ends when it holds at least so much backlogged time and so many backlogged readings, and the
  // estimate of that time is good to this standard error. An unbroken backlog gives windows of 100 ms.
  static constexpr double window_s = 0.1;
  static constexpr std::size_t window_readings = 20;
  static constexpr double window_error = 0.03;
  static constexpr std::size_t fewest_windows = 10;

  explicit RateRecord(const Shape& shape) : shape_(shape) {}

  void add(const LinkCounters& counters);

  // The checks of this direction: median and 5th percentile of the rate while backlogged, the fastest 100 ms,
  // drops by a queue that was not full. With too few windows the first two have no measure and say why.
  std::vector<Check> checks() const;

 private:
  struct Window {
    double bytes = 0;
    double backlogged_s = 0;
    double variance_s2 = 0;  // of backlogged_s
    std::size_t backlogged_readings = 0;

    bool complete() const;
  };

  void note_fastest(const LinkCounters& counters);

  Shape shape_;
  std::optional<LinkCounters> first_;
  std::optional<LinkCounters> last_;
  Window window_;                      // the one being filled
  std::vector<double> window_ratios_;  // rate while backlogged / cap of each finished window
  double backlogged_s_ = 0;
  std::optional<LinkCounters> fastest_from_;  // where the current 100 ms began
  double fastest_ = 0;                        // bytes in 100 ms over the most that the shape allows
};

}  // namespace thinpipe::netem

// How one direction of a link kept its cap during a run: pure arithmetic on successive counters.
#pragma once

#include <optional>
#include <vector>

#include "netem/counters.hh"
#include "netem/fidelity.hh"
#include "netem/shaping.hh"

namespace thinpipe::netem {

// Only time in which the queue certainly never ran empty counts, for only then is a slow link the emulation's
// fault and not a pause of the sender. Between two readings that certainty needs
//   backlog(first) >= rate * time + burst,
// which is more than the shaper can let out in that time. Certain pieces are joined into windows of 100 ms.
class RateRecord {
 public:
  static constexpr double window_s = 0.1;
  static constexpr std::size_t fewest_windows = 10;

  explicit RateRecord(const Shape& shape) : shape_(shape) {}

  void add(const LinkCounters& counters);

  // The checks of this direction; `name` ends their names.
  std::vector<Check> checks() const;

 private:
  Shape shape_;
  std::optional<LinkCounters> last_;
  std::vector<double> window_ratios_;  // rate / cap of each finished window
  double open_window_s_ = 0;
  double open_window_bytes_ = 0;
  double both_ends_backlogged_s_ = 0;  // certain or not
  double largest_excess_ = 0;          // bytes above what rate * time + burst allows, over the latter
  std::uint64_t early_drops_ = 0;      // by a queue that was not full
};

}  // namespace thinpipe::netem

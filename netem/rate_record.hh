// How one direction of a link kept its cap during a run: pure arithmetic on successive counters.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "netem/counters.hh"
#include "netem/fidelity.hh"
#include "netem/shape.hh"

namespace thinpipe::netem {

// Only time in which the queue certainly never ran empty counts, for only then is a slow link the emulation's
// fault and not a pause of the sender. Between two readings that certainty needs
//   backlog(first) >= rate * time + burst,
// which is more than the shaper can let out in that time; bytes sent play no part in it, so the choice does
// not favour slow moments. Certain pieces are joined into windows of 100 ms.
class RateRecord {
 public:
  // How often to take readings: often enough that a queue of 10 ms, half full, makes the time to the next one
  // certain.
  static constexpr std::chrono::milliseconds sampling_period{4};
  static constexpr double window_s = 0.1;
  static constexpr std::size_t fewest_windows = 10;

  explicit RateRecord(const Shape& shape) : shape_(shape) {}

  void add(const LinkCounters& counters);

  // The checks of this direction: median and 5th percentile of the windows' rates, the fastest moment, drops
  // by a queue that was not full. With too few windows the first two have no measure and say why; that is a
  // failure only when readings came too late to use a backlog that was there.
  std::vector<Check> checks() const;

 private:
  void add_certain(double time_s, double bytes);

  Shape shape_;
  std::optional<LinkCounters> first_;
  std::optional<LinkCounters> last_;
  std::vector<double> window_ratios_;  // rate / cap of each finished window
  double open_window_s_ = 0;
  double open_window_bytes_ = 0;
  double late_s_ = 0;   // time that would have been certain had the second reading come on time
  double fastest_ = 0;  // bytes sent between two readings over the most that the shape allows
};

}  // namespace thinpipe::netem

// How one direction of a link kept its cap during a run: pure arithmetic on successive counters.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
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
//
// Where the shape changes, each moment is held against the shape of that moment: the readings before and
// after a change are never subtracted from each other, and the slot in which it falls ends there.
class RateRecord {
 public:
  // How often to take readings. Any period gives an unbiased estimate; a shorter one gives more windows.
  static constexpr std::chrono::milliseconds sampling_period{4};

  // The run is cut into slots of this length. Slots with a backlog are joined, each the same number, into
  // windows long enough to hold so much backlogged time, so many backlogged readings, and an estimate of that
  // time with this standard error. An unbroken backlog gives windows of one slot.
  static constexpr double slot_s = 0.1;
  static constexpr std::size_t window_readings = 20;
  static constexpr double window_error = 0.03;
  static constexpr std::size_t fewest_windows = 10;

  explicit RateRecord(const Shape& shape) : shape_(shape), lossy_(shape.impairments.loss > 0) {}

  void add(const LinkCounters& counters);

  // What follows the last reading is held against this shape. Call it with a reading just before the change
  // and one just after it.
  void set_shape(const Shape& shape);

  // Readings from now on do not count, since the link is down, or count again.
  void set_up(bool up);

  // The checks of this direction: median and 5th percentile of the rate while backlogged, the fastest 100 ms,
  // drops by a queue that was not full, and the share of frames lost where frames are to be lost. With too
  // few windows the first two have no measure and say why.
  std::vector<Check> checks() const;

 private:
  struct Slot {
    double time_s = 0;
    double bytes = 0;
    double backlogged_s = 0;
    double backlogged_bytes = 0;  // what the cap lets through in that time
    double variance_s2 = 0;       // of backlogged_s
    double backlogged_readings = 0;

    void add(const Slot& other);
  };

  // Frames of the time in which one shape held, and what became of them.
  struct Fates {
    double frames = 0;  // that left the shaper or were lost on purpose
    double lost = 0;
    double expected = 0;  // to be lost
    double variance = 0;  // of that
    std::uint64_t early_drops = 0;

    void add(const Fates& other);
  };

  // Ends the slot if it is this long.
  void finish_slot(const LinkCounters& counters, double least_s);

  // Ends the time that began with the first reading since the last break.
  void break_off();
  Fates fates_since_break() const;

  Check loss_check(const Fates& fates) const;

  // Of each window: rate while backlogged / cap.
  std::vector<double> window_ratios() const;

  Shape shape_;
  bool up_ = true;
  std::string name_;
  std::optional<LinkCounters> first_;  // since the last break
  std::optional<LinkCounters> last_;
  Fates fates_;  // until then
  bool lossy_ = false;
  std::optional<LinkCounters> slot_first_;
  Slot slot_;                // the one being filled
  std::vector<Slot> slots_;  // those with a backlog
  Slot all_;                 // the sum of slots_
  double fastest_ = 0;       // bytes in a slot over the most that the shape allows
};

}  // namespace thinpipe::netem

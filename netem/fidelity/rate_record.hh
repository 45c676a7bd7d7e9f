// SPDX-License-Identifier: Apache-2.0
// Judges from successive counters how well one direction of a link kept its cap during a run. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "netem/fidelity/backlog_estimate.hh"
#include "netem/fidelity/backlog_windows.hh"
#include "netem/fidelity/fidelity.hh"
#include "netem/kernel/counters.hh"
#include "netem/topology/link_shape.hh"

namespace thinpipe::netem {

// A slow link may be the emulation's fault or a pause of its senders. The backlog distinguishes the two: while frames
// wait, a faithful shaper sends at its cap. So over any window the rate while backlogged (backlog_estimate.hh) is at
// least the cap up to the error of the estimate, however short the pauses in the window are.
//
// Frames that pass without waiting could hide a slow shaper in this rate. So a rate that is high enough is believed if
// frames surely waited for at least half of the time and were sent fast enough in it, or if the rate is high enough even
// without the bytes that may not have waited (BacklogEstimate::lowest_rate_of_cap). Otherwise it is not judged.
//
// If the shape changes, each moment is judged by the shape of that moment: the readings before and after a
// change are never subtracted from each other, and a change ends its slot.
class RateRecord {
 public:
  // The period of the readings. Any period gives an unbiased estimate; a shorter one gives more windows.
  static constexpr std::chrono::milliseconds sampling_period{4};
  // A reading that comes more than this many usual gaps after the one before is late, and the gap is not judged. On a busy
  // machine readings are late when workers compute again, which is when a backlog ends: their moments depend on it.
  static constexpr double late_after_gaps = 3;

  // The run is cut into slots of slot_s, and these are joined into windows (backlog_windows.hh). An unbroken backlog
  // gives windows of one slot, unless the cap is low.
  static constexpr double slot_s = BacklogWindows::least_backlog_s;
  static constexpr std::size_t min_windows = 10;
  // The moments in which frames surely waited decide if they are at least this share of the time in which frames waited.
  // The queue is also deepest when a shaper was late, and a few such moments must not stand for the whole run.
  static constexpr double least_sure_share = 0.5;

  explicit RateRecord(const LinkShape& shape) { set_shape(shape); }

  void add(const LinkCounters& counters);

  // Judges later readings by this shape. Call it with a reading just before the change and one just after it.
  void set_shape(const LinkShape& shape);

  // Ignores readings from now on (the link is down), or counts them again.
  void set_up(bool up);

  // Returns the checks of this direction: median and 5th percentile of the rate while backlogged, the fastest
  // 100 ms, drops by a queue that was not full, and the share of frames lost if the shape asks for loss. Without a
  // judgement the first two have no measurement, and a note says why.
  std::vector<Check> checks() const;

 private:
  // The frames sent while one shape held, and their fates.
  struct FrameCounts {
    double frames = 0;  // that left the shaper or were lost on purpose
    double lost = 0;
    double expected = 0;  // losses
    double variance = 0;  // of the losses

    void add(const FrameCounts& other);
  };

  // Returns whether a reading this long after the one before is late, and counts the gap.
  bool is_late(double gap_s);

  // Ends the slot if it lasted at least `min_s`.
  void finish_slot(const LinkCounters& counters, double min_s);

  // Ends the stretch of readings that began with the first reading since the last break.
  void break_off();
  FrameCounts frame_counts_since_break() const;

  // Returns the drops by a queue that was not full since the link was last down. The counters of a reading are read one
  // after the other, the queue's after the shaper's, so that a drop in between counts as one by a full queue. Breaks in
  // between would count it the other way round.
  std::uint64_t early_drops_since_up() const;

  Check loss_check(const FrameCounts& frame_counts) const;

  // Returns the checks of the median and the 5th percentile of the rate while backlogged.
  std::vector<Check> rate_checks() const;

  LinkShape shape_;
  bool up_ = true;
  std::string name_;
  std::optional<LinkCounters> first_;  // since the last break
  std::optional<LinkCounters> last_;
  std::optional<LinkCounters> first_up_;  // since the link was last down
  std::optional<LinkCounters> last_up_;
  std::uint64_t early_drops_ = 0;  // before that
  // The running median of the time between readings.
  double usual_gap_s_ = std::chrono::duration<double>(sampling_period).count();
  FrameCounts frame_counts_;  // before the last break
  bool lossy_ = false;
  double segment_bytes_ = 0;  // the largest of all shapes
  std::optional<LinkCounters> slot_first_;
  BacklogEstimate slot_;  // the one being filled
  BacklogWindows windows_;
  BacklogEstimate sure_slot_;  // of these, the times in which frames surely waited
  BacklogWindows sure_windows_;
  double max_rate_ratio_ = 0;  // maximum over slots of bytes / the most that the shape allows
};

}  // namespace thinpipe::netem

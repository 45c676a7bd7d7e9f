// How late this machine wakes up who sleeps: what a shaper's timers are late by, and its links slower for.
#pragma once

#include <cstddef>
#include <vector>

#include "harness/support/json_object.hh"

namespace thinpipe::netem {

// How much later than asked sleepers woke up, in seconds.
class WakeUps {
 public:
  void add(double late_s) { late_s_.push_back(late_s); }

  std::size_t count() const { return late_s_.size(); }
  // Of all, the share that was at most so late: quantile(0.5) is the median. Where count() > 0.
  double quantile_s(double share) const;

  // {"count", "median_s", "p99_s", "most_s"}; the times are null where there was none.
  Json to_json() const;

 private:
  std::vector<double> late_s_;
};

// Sleeps so often, for a millisecond each time, on this thread.
WakeUps measure_wake_ups(int count);

}  // namespace thinpipe::netem

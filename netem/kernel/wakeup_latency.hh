// SPDX-License-Identifier: Apache-2.0
// How late this machine wakes sleeping threads. A shaper's timers are late by this, which slows its link.
#pragma once

#include <cstddef>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe::netem {

// Samples of how much later than asked a sleeping thread woke up, in seconds.
class WakeupLatency {
 public:
  void add(double late_s) { late_s_.push_back(late_s); }

  std::size_t count() const { return late_s_.size(); }
  // Returns the lateness that this share of the samples does not exceed: quantile_s(0.5) is the median. Needs
  // count() > 0.
  double quantile_s(double share) const;

  // {"count", "median_s", "p99_s", "max_s"}; the times are null if there are no samples.
  Json to_json() const;

 private:
  std::vector<double> late_s_;
};

// Sleeps `count` times, a millisecond each, on this thread.
WakeupLatency measure_wakeup_latency(int count);

}  // namespace thinpipe::netem

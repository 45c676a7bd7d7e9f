// SPDX-License-Identifier: Apache-2.0
// Joins slots of time into windows that are long enough to judge the rate while backlogged. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "netem/fidelity/backlog_estimate.hh"

namespace thinpipe::netem {

// Windows consist of equally many slots with a backlog. A window holds at least least_backlog_s of backlogged time,
// window_readings readings with a backlog, an estimate of that time with the relative standard error window_error, and
// enough bytes that a shaper's whole segments hardly matter.
class BacklogWindows {
 public:
  static constexpr double least_backlog_s = 0.1;
  static constexpr std::size_t window_readings = 20;
  static constexpr double window_error = 0.03;

  // Ignores a slot without a backlog.
  void add_slot(const BacklogEstimate& slot);

  const BacklogEstimate& all() const { return all_; }

  // A shaper passes whole segments, of this size at most.
  std::vector<BacklogEstimate> windows(double segment_bytes) const;

 private:
  std::vector<BacklogEstimate> slots_;
  BacklogEstimate all_;  // their sum
};

}  // namespace thinpipe::netem

// SPDX-License-Identifier: Apache-2.0
// Estimates from successive readings of a link's counters for how long frames waited for the cap, and how fast they
// were sent meanwhile. Pure.
#pragma once

#include "netem/kernel/counters.hh"

namespace thinpipe::netem {

// The share of readings with a backlog is an unbiased estimate of the share of time with a backlog, at any period of
// the readings, if the moments of the readings do not depend on the backlog.
struct BacklogEstimate {
  double time_s = 0;
  double bytes = 0;         // sent in that time
  double judged_bytes = 0;  // of these, the ones sent while it was known whether frames waited
  double backlogged_s = 0;
  double backlogged_bytes = 0;  // bytes that the cap passes in that time
  double variance_s2 = 0;       // of backlogged_s
  double backlogged_readings = 0;

  // Adds the time between two readings, in which this was the cap.
  void add(const LinkCounters& from, const LinkCounters& to, double rate_bit_per_s);
  // Adds time of which it is not known whether frames waited.
  void add_unknown(const LinkCounters& from, const LinkCounters& to);
  void add(const BacklogEstimate& other);

  // Returns the rate while backlogged, as a share of the cap. Frames that pass without waiting raise it above 1; below
  // 1, frames waited and were not sent. Needs backlogged_s > 0.
  double rate_of_cap() const { return judged_bytes / backlogged_bytes; }
};

}  // namespace thinpipe::netem

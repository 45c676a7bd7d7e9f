// SPDX-License-Identifier: Apache-2.0
// Estimates from successive readings of a link's counters for how long frames waited for the cap, and how fast they
// were sent meanwhile. Pure.
#pragma once

#include "netem/kernel/counters.hh"
#include "netem/topology/link_shape.hh"

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
  double idle_s = 0;  // between readings of which neither found a backlog
  double idle_bytes = 0;
  double half_idle_s = 0;  // between readings of which one found a backlog

  // Adds the time between two readings, in which this was the cap.
  void add(const LinkCounters& from, const LinkCounters& to, double rate_bit_per_s);
  // Adds time of which it is not known whether frames waited.
  void add_unknown(const LinkCounters& from, const LinkCounters& to);
  void add(const BacklogEstimate& other);

  // Returns the rate while backlogged, as a share of the cap, if all bytes waited. Frames that pass without waiting
  // raise it above 1; below 1, frames waited and were not sent. Readings do not find every short backlog, so the bytes
  // between readings without one must count, or bursts of willing senders would look like a slow shaper. Needs
  // backlogged_s > 0.
  double rate_of_cap() const { return judged_bytes / backlogged_bytes; }

  // The same if no byte waited between readings without a backlog, and bytes passed as fast in the half of the time
  // between other readings that counts as without one. If a constant flow below the cap passes beside the bursts that
  // wait, this is the shaper's rate, and rate_of_cap() is higher. Without time between readings without a backlog, bytes
  // pass at the given rate.
  double lowest_rate_of_cap(double idle_bytes_per_s) const;
};

// Returns whether frames waited all the time between two readings: the first found more waiting than the shape lets
// pass until the second. The bytes that did pass must not decide, or slow moments would be chosen.
bool surely_waited(const LinkCounters& from, const LinkCounters& to, const LinkShape& shape);

}  // namespace thinpipe::netem

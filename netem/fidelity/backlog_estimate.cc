// SPDX-License-Identifier: Apache-2.0
#include "netem/fidelity/backlog_estimate.hh"

#include <algorithm>

namespace thinpipe::netem {

void BacklogEstimate::add(const LinkCounters& from, const LinkCounters& to, double rate_bit_per_s) {
  const double passed_s = to.time_s - from.time_s;
  const bool before = from.backlog_bytes > 0;
  const bool now = to.backlog_bytes > 0;
  add_unknown(from, to);
  judged_bytes += static_cast<double>(to.bytes - from.bytes);
  double waited_s = 0;
  if (before && now) {
    waited_s = passed_s;
  } else if (before != now) {
    // The backlog began or ended at a uniformly distributed moment in between.
    waited_s = passed_s / 2;
    variance_s2 += passed_s * passed_s / 12;
    half_idle_s += passed_s;
  } else {
    idle_s += passed_s;
    idle_bytes += static_cast<double>(to.bytes - from.bytes);
  }
  backlogged_s += waited_s;
  backlogged_bytes += waited_s * rate_bit_per_s / 8;
  if (now) ++backlogged_readings;
}

void BacklogEstimate::add_unknown(const LinkCounters& from, const LinkCounters& to) {
  time_s += to.time_s - from.time_s;
  bytes += static_cast<double>(to.bytes - from.bytes);
}

void BacklogEstimate::add(const BacklogEstimate& other) {
  time_s += other.time_s;
  bytes += other.bytes;
  judged_bytes += other.judged_bytes;
  backlogged_s += other.backlogged_s;
  backlogged_bytes += other.backlogged_bytes;
  variance_s2 += other.variance_s2;
  backlogged_readings += other.backlogged_readings;
  idle_s += other.idle_s;
  idle_bytes += other.idle_bytes;
  half_idle_s += other.half_idle_s;
}

double BacklogEstimate::lowest_rate_of_cap(double idle_bytes_per_s) const {
  if (idle_s > 0) idle_bytes_per_s = idle_bytes / idle_s;
  return (judged_bytes - idle_bytes - idle_bytes_per_s * half_idle_s / 2) / backlogged_bytes;
}

bool surely_waited(const LinkCounters& from, const LinkCounters& to, const LinkShape& shape) {
  // A frame that was dropped may have waited before.
  const double drops = static_cast<double>(to.drops - from.drops) -
                       static_cast<double>(to.lost_on_purpose - from.lost_on_purpose);
  const double most_bytes = shape.rate_bit_per_s / 8 * (to.time_s - from.time_s) + credit_bytes(shape);
  const double left_bytes =
      static_cast<double>(from.backlog_bytes) - std::max(drops, 0.0) * segment_on_link_bytes(shape);
  return left_bytes >= most_bytes && to.backlog_bytes > 0;
}

}  // namespace thinpipe::netem

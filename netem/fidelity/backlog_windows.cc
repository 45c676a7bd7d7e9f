// SPDX-License-Identifier: Apache-2.0
#include "netem/fidelity/backlog_windows.hh"

#include <algorithm>
#include <cmath>

namespace thinpipe::netem {
namespace {

constexpr double clock_rounding = 0.01;
// Below some 25 Mbit/s few segments fit into a slot.
constexpr double segments_of_window = 100;

}  // namespace

void BacklogWindows::add_slot(const BacklogEstimate& slot) {
  if (slot.backlogged_s <= 0) return;
  slots_.push_back(slot);
  all_.add(slot);
}

std::vector<BacklogEstimate> BacklogWindows::windows(double segment_bytes) const {
  if (slots_.empty()) return {};
  // All windows have one length, derived from the whole run. A window that ended as soon as it looked good
  // would favour readings that overestimate the backlog.
  const auto slots = static_cast<double>(slots_.size());
  const double relative_error = window_error * all_.backlogged_s;
  const double length =
      std::ceil(std::max({1.0, least_backlog_s * slots / all_.backlogged_s * (1 - clock_rounding),
                          window_readings * slots / std::max(all_.backlogged_readings, 1.0),
                          slots * all_.variance_s2 / (relative_error * relative_error),
                          segments_of_window * segment_bytes * slots / all_.backlogged_bytes}));
  std::vector<BacklogEstimate> out;
  BacklogEstimate window;
  double filled = 0;
  for (const BacklogEstimate& slot : slots_) {
    window.add(slot);
    if (++filled < length) continue;
    // A window with far less backlog than most is too uncertain.
    if (window.backlogged_s >= 0.5 * length * all_.backlogged_s / slots) out.push_back(window);
    window = {};
    filled = 0;
  }
  return out;
}

}  // namespace thinpipe::netem

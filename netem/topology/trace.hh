// SPDX-License-Identifier: Apache-2.0
// The rate of a link over time, read from a file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace thinpipe::netem {

struct RateStep {
  double at_s = 0;
  double rate_bit_per_s = 0;  // from then on

  bool operator==(const RateStep&) const = default;
};

struct RateTrace {
  std::vector<RateStep> steps = {};  // the first at 0, times increasing
  // Later than the last step; from then on the steps repeat. nullopt: the last rate stays.
  std::optional<double> period_s = {};
};

// Parses a CSV file: comments ("# …"), the header "time_s,rate_bit_per_s" or "time_s,rate_mbit_per_s", then
// one row per step. Times begin at 0 and increase; rates are within the limits of a topology. The result has
// no period. `file` names the text in errors. Throws InputError naming file, line, rule and remedy.
RateTrace parse_rate_csv(std::string_view text, const std::string& file);

// Parses mahimahi's format: one line for each packet of 1500 bytes that the link can deliver, with the time
// in whole milliseconds. The last time is also the period. A cap needs a rate, so packets are counted in
// windows of mahimahi_window_s (the last one is between half and one and a half of that). A window's rate is
// the one at which the same number of full frames, Ethernet headers included, pass in it, but at least the
// slowest rate of a topology (a frame in 120 ms). Throws InputError as above.
inline constexpr double mahimahi_window_s = 0.1;
RateTrace parse_mahimahi(std::string_view text, const std::string& file);

// Reads a trace file: CSV if its name ends in ".csv", otherwise mahimahi's format.
RateTrace load_rate_trace(const std::string& path);

}  // namespace thinpipe::netem

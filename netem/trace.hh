// How a link's rate varies with time, as a file says.
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
  std::vector<RateStep> steps = {};     // the first at 0, times increasing
  std::optional<double> period_s = {};  // later than the last step: all begins anew. None: the last one stays
};

// A CSV file: comments ("# …"), the header "time_s,rate_bit_per_s" or "time_s,rate_mbit_per_s", then a row a
// step; times begin at 0 and increase, rates are what a topology allows. It has no period. `file` names the
// text in errors. Throws InputError naming file, line, rule and remedy.
RateTrace parse_rate_csv(std::string_view text, const std::string& file);

// Mahimahi's format: a line for each packet of 1500 bytes that the link can deliver, holding the whole
// millisecond at which; the last is also the period. A cap needs a rate, so packets are counted in windows of
// this length (the last is between half and one and a half of it) and become the rate at which as many full
// frames, Ethernet headers included, pass in it. Where a window has fewer than the slowest rate would let
// pass (a frame in 120 ms), that rate stands for it. Throws InputError as above.
inline constexpr double mahimahi_window_s = 0.1;
RateTrace parse_mahimahi(std::string_view text, const std::string& file);

// By the file's name: CSV where it ends in ".csv", mahimahi otherwise.
RateTrace load_rate_trace(const std::string& path);

}  // namespace thinpipe::netem

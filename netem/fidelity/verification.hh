// SPDX-License-Identifier: Apache-2.0
// Measures whether a network behaves as its topology specifies, by real traffic through every capped link and
// between islands.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "netem/network.hh"

namespace thinpipe::netem {

// A specified value and its measurement.
struct Measurement {
  std::string subject;    // "left->middle", "w0 and w7"
  std::string what;       // "goodput of one flow"
  std::string unit = {};  // "bit/s"
  std::optional<double> asked = {};
  std::optional<double> measured = {};  // nullopt if not measured; `note` says why
  std::string rule = {};                // "at least 0.98 of it"
  bool ok = true;
  std::string note = {};
};

// The limits of the rules. Goodput is relative to the cap x goodput_of_cap() (frame.hh).
inline constexpr double min_goodput = 0.98;            // of one flow, and of the sum of four
inline constexpr double max_goodput = 1.02;            // leaves room for a burst and for the estimate's error
inline constexpr double min_jain_index = 0.99;         // among four flows
inline constexpr double long_message_bytes = 1 << 20;  // after a pause
inline constexpr double long_message_within = 0.02;
inline constexpr double short_message_bytes = 1 << 16;
inline constexpr double short_message_within = 0.10;
inline constexpr double max_added_round_trip_s = 1e-3;  // added by the machine itself
inline constexpr double round_trip_within = 0.05;       // of the delays asked for, if that is more
inline constexpr double median_deviations = 4;          // standard errors of the median, for jitter
inline constexpr double loss_deviations = 4;            // standard deviations of a binomial
inline constexpr double least_judged_losses = 10;       // fewer are not distributed as if normally

// How long to measure. Fewer and shorter measurements are less certain.
struct VerificationEffort {
  int repetitions = 3;     // of a goodput; the median counts
  double settle_s = 1;     // before flows that share a link are measured; 0.3 of it before others
  double goodput_s = 0.7;  // at least, per goodput
  double shared_s = 10;    // flows that share a link need seconds to become even
  int messages = 9;        // the median counts
  int datagrams = 1000;
  double min_frames = 400;  // per goodput

  static VerificationEffort quick() {
    return {.repetitions = 1, .shared_s = 1, .messages = 3, .datagrams = 100, .min_frames = 100};
  }
};

// Called before each measurement.
using VerificationObserver = std::function<void(const std::string& subject, const std::string& what)>;

// Measures everything, in about 25 seconds per direction of a capped link, or 5 with the quick effort.
std::vector<Measurement> verify(const Network& network, const VerificationEffort& effort,
                                const VerificationObserver& observer);

bool all_well(const std::vector<Measurement>& measurements);

// Returns {"verdict": "as specified" or "deviates", "measurements": [...]}, where each measurement is {"subject",
// "what", "unit", "specified", "measured", "rule", "ok", "note"}.
Json to_json(const std::vector<Measurement>& measurements);

}  // namespace thinpipe::netem

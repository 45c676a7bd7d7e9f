// SPDX-License-Identifier: Apache-2.0
// The evidence, stored with each run, that the emulated network behaved as specified.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe::netem {

struct Check {
  std::string name;
  Json asked;
  Json measured = {};  // null if the traffic did not allow a judgement; the note has the reason
  bool ok = true;
  std::string note = {};
  std::string rate_of = {};  // the direction whose rate this check judges, if it does
};

struct Fidelity {
  // "degraded" if a check is not ok; otherwise "not judged" if the rate of a direction was not measured by any check;
  // otherwise "faithful".
  std::string verdict = {};
  std::size_t directions = 0;  // that have checks of their rate
  std::size_t judged_directions = 0;
  std::vector<Check> checks = {};
};

// Returns a share as checks show it, with four digits.
double rounded(double share);

Fidelity judge(std::vector<Check> checks);

// {"verdict", "directions", "judged_directions", "checks": [{"name", "specified", "measured", "ok", "note" (if any)}]}
Json to_json(const Fidelity& fidelity);

}  // namespace thinpipe::netem

// The evidence, stored with each run, that the emulation did what it was told.
#pragma once

#include <string>
#include <vector>

#include "harness/support/json_object.hh"

namespace thinpipe::netem {

struct Check {
  std::string name;
  Json asked;
  Json measured = {};  // null when the run gave too little to measure; the note says why
  bool ok = true;
  std::string note = {};
};

struct Fidelity {
  std::string verdict;  // "faithful": every check is ok; "degraded" otherwise
  std::vector<Check> checks;
};

Fidelity judge(std::vector<Check> checks);

// {"verdict", "checks": [{"name", "asked", "measured", "ok", "note" (when there is one)}]}
Json to_json(const Fidelity& fidelity);

}  // namespace thinpipe::netem

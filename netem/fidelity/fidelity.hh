// The evidence, stored with each run, that the emulated network behaved as specified.
#pragma once

#include <string>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe::netem {

struct Check {
  std::string name;
  Json asked;
  Json measured = {};  // null if there was too little traffic to judge; the note has the reason
  bool ok = true;
  std::string note = {};
};

struct Fidelity {
  std::string verdict;  // "faithful" if every check is ok, otherwise "degraded"
  std::vector<Check> checks;
};

Fidelity judge(std::vector<Check> checks);

// {"verdict", "checks": [{"name", "specified", "measured", "ok", "note" (if any)}]}
Json to_json(const Fidelity& fidelity);

}  // namespace thinpipe::netem

// SPDX-License-Identifier: Apache-2.0
#include "netem/fidelity/fidelity.hh"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace thinpipe::netem {

double rounded(double share) {
  return std::round(share * 1e4) / 1e4;
}

Fidelity judge(std::vector<Check> checks) {
  std::map<std::string, bool> is_judged;  // by direction
  for (const Check& check : checks) {
    if (check.rate_of.empty()) continue;
    bool& judged = is_judged[check.rate_of];
    judged = judged || !check.measured.is_null();
  }
  Fidelity out{.directions = is_judged.size(), .checks = std::move(checks)};
  for (const auto& [direction, judged] : is_judged) out.judged_directions += judged ? 1 : 0;
  out.verdict = "faithful";
  if (out.judged_directions < out.directions) out.verdict = "not judged";
  if (!std::ranges::all_of(out.checks, &Check::ok)) out.verdict = "degraded";
  return out;
}

Json to_json(const Fidelity& fidelity) {
  Json checks = Json::array();
  for (const Check& check : fidelity.checks) {
    Json entry = {
        {"name", check.name}, {"specified", check.asked}, {"measured", check.measured}, {"ok", check.ok}};
    if (!check.note.empty()) entry["note"] = check.note;
    checks.push_back(std::move(entry));
  }
  return {{"verdict", fidelity.verdict},
          {"directions", fidelity.directions},
          {"judged_directions", fidelity.judged_directions},
          {"checks", std::move(checks)}};
}

}  // namespace thinpipe::netem

#include "netem/fidelity/fidelity.hh"

#include <algorithm>
#include <utility>

namespace thinpipe::netem {

Fidelity judge(std::vector<Check> checks) {
  const bool faithful = std::ranges::all_of(checks, &Check::ok);
  return {faithful ? "faithful" : "degraded", std::move(checks)};
}

Json to_json(const Fidelity& fidelity) {
  Json checks = Json::array();
  for (const Check& check : fidelity.checks) {
    Json entry = {
        {"name", check.name}, {"specified", check.asked}, {"measured", check.measured}, {"ok", check.ok}};
    if (!check.note.empty()) entry["note"] = check.note;
    checks.push_back(std::move(entry));
  }
  return {{"verdict", fidelity.verdict}, {"checks", std::move(checks)}};
}

}  // namespace thinpipe::netem

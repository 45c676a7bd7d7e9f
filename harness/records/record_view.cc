#include "harness/records/record_view.hh"

#include <algorithm>

namespace thinpipe {

std::optional<double> final_accuracy(const Json& record) {
  const Json& curve = record.at("curve");
  if (curve.empty() || !curve.back().at("test_accuracy").is_number()) return std::nullopt;
  return curve.back().at("test_accuracy").get<double>();
}

Json reach_targets(const Json& curve, const std::vector<Target>& targets) {
  Json out = Json::array();
  for (const Target& target : targets) {
    const auto reached = std::ranges::find_if(
        curve, [&](const Json& point) { return is_reached(target, measure(target.metric, point)); });
    const bool found = reached != curve.end();
    out.push_back({{name_of(target.metric), target.value},
                   {"reached", found},
                   {"iteration", found ? reached->at("iteration") : Json(nullptr)},
                   {"train_time_s", found ? reached->at("train_time_s") : Json(nullptr)}});
  }
  return out;
}

}  // namespace thinpipe

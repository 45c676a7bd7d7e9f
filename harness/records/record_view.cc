// SPDX-License-Identifier: Apache-2.0
#include "harness/records/record_view.hh"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace thinpipe {

std::optional<double> final_accuracy(const std::vector<record::CurvePoint>& curve) {
  return curve.empty() ? std::nullopt : curve.back().test_accuracy;
}

std::optional<double> level_of(Target::Metric metric, const record::CurvePoint& point) {
  if (metric == Target::Metric::accuracy) return point.test_accuracy;
  if (metric == Target::Metric::test_loss || !point.test_loss) return point.test_loss;
  const double level = metric == Target::Metric::perplexity ? std::exp(*point.test_loss)
                                                            : *point.test_loss / std::numbers::ln2;
  return std::isfinite(level) ? std::optional(level) : std::nullopt;
}

record::TargetResult reach_target(const std::vector<record::CurvePoint>& curve, const Target& target,
                                  std::int64_t hold) {
  record::TargetResult out{.target = target, .held = record::HeldTarget{.evaluations = hold}};
  const auto arrive = [](auto& result, const record::CurvePoint& point) {
    result.reached = true;
    result.iteration = point.iteration;
    result.train_time_s = point.train_time_s;
  };
  std::int64_t in_a_row = 0;
  for (auto point = curve.begin(); point != curve.end() && !out.held->reached; ++point) {
    const auto level = level_of(target.metric, *point);
    in_a_row = level && is_reached(target, *level) ? in_a_row + 1 : 0;
    if (in_a_row == 1 && !out.reached) arrive(out, *point);
    if (in_a_row == hold) arrive(*out.held, *(point - (hold - 1)));
  }
  return out;
}

std::int64_t hold_of(const Json& config) {
  const Json hold = config.value("hold", Json(1));
  return hold.is_number_integer() && hold >= 1 ? hold.get<std::int64_t>() : 1;
}

}  // namespace thinpipe

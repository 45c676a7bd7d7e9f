#include "harness/records/record_view.hh"

#include <algorithm>
#include <numbers>

namespace thinpipe {

std::optional<double> final_accuracy(const std::vector<record::CurvePoint>& curve) {
  return curve.empty() ? std::nullopt : curve.back().test_accuracy;
}

std::optional<double> level_of(Target::Metric metric, const record::CurvePoint& point) {
  if (metric == Target::Metric::accuracy) return point.test_accuracy;
  if (metric == Target::Metric::bits_per_byte && point.test_loss) return *point.test_loss / std::numbers::ln2;
  return point.test_loss;
}

record::TargetResult reach_target(const std::vector<record::CurvePoint>& curve, const Target& target) {
  const auto reached = std::ranges::find_if(curve, [&target](const record::CurvePoint& point) {
    const auto level = level_of(target.metric, point);
    return level && is_reached(target, *level);
  });
  if (reached == curve.end()) return {.target = target};
  return {.target = target,
          .reached = true,
          .iteration = reached->iteration,
          .train_time_s = reached->train_time_s};
}

}  // namespace thinpipe

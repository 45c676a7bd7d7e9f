// SPDX-License-Identifier: Apache-2.0
// Values that both a sweep and its reports read from a record. Pure.
#pragma once

#include <optional>
#include <vector>

#include "harness/records/record_data.hh"

namespace thinpipe {

// Returns the test accuracy at the last evaluation of a curve; nullopt if there is none.
std::optional<double> final_accuracy(const std::vector<record::CurvePoint>& curve);

// Returns the level of the metric at an evaluation; nullopt if it was not measured or not finite.
std::optional<double> level_of(Target::Metric metric, const record::CurvePoint& point);

// Returns the first evaluation of `curve` that reaches the target, and the first of the first `hold` successive ones.
record::TargetResult reach_target(const std::vector<record::CurvePoint>& curve, const Target& target,
                                  std::int64_t hold);

// Returns "hold" of a record's configuration: 1 in records older than it.
std::int64_t hold_of(const Json& config);

}  // namespace thinpipe

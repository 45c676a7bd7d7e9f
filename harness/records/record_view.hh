// Values that both a sweep and its reports read from a record. Pure.
#pragma once

#include <optional>
#include <vector>

#include "common/support/json_object.hh"
#include "common/support/target.hh"

namespace thinpipe {

// Test accuracy at the last evaluation of a record's curve.
std::optional<double> final_accuracy(const Json& record);

// The first evaluation of `curve` that reaches each target: {"accuracy" (or the target's other metric),
// "reached", "iteration", "train_time_s"}; the last two are null where it is never reached.
Json reach_targets(const Json& curve, const std::vector<Target>& targets);

}  // namespace thinpipe

// Values that both a sweep and its reports read from a record. Pure.
#pragma once

#include <optional>
#include <vector>

#include "common/support/json_object.hh"
#include "common/support/target.hh"

namespace thinpipe {

// Returns the test accuracy at the last evaluation of a record's curve; nullopt if there is none.
std::optional<double> final_accuracy(const Json& record);

// Returns for each target the first evaluation of `curve` that reaches it: {"accuracy" (or another metric),
// "reached", "iteration", "train_time_s"}; the last two are null if none does.
Json reach_targets(const Json& curve, const std::vector<Target>& targets);

}  // namespace thinpipe

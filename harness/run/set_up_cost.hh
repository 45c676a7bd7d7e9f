// SPDX-License-Identifier: Apache-2.0
// The time that a run needs before, and for, its first distributed iteration, and that train time leaves out:
// pre-training, and choosing which weights to prune. docs/reference/metrics.md defines it. Pure.
#pragma once

#include <optional>

#include "common/protocol/compute_profile.hh"
#include "common/support/json_object.hh"
#include "harness/records/record_data.hh"

namespace thinpipe {

// Returns the time of the pre-training of a configuration on one worker of the profile's device. Times of forward and
// backward pass grow with the batch size.
double pretraining_s_on(const ComputeProfile& profile, const Json& config);

// Returns the set-up cost of a training configuration. `measured_s`: the time of its pre-training on the machine that
// did it; nullopt if unknown. `profile`: of the device on which the times of a replay or simulation are, unless it was
// measured on that machine. `pruning_s`: nullopt if unknown.
record::SetUp set_up_cost(const Json& config, std::optional<double> measured_s,
                          const std::optional<ComputeProfile>& profile, std::optional<double> pruning_s);

}  // namespace thinpipe

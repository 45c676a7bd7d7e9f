// SPDX-License-Identifier: Apache-2.0
// How many bytes a run will send, by formula: nothing is trained for it.
#pragma once

#include <memory>

#include "trainer/commands/planning/planned_models.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {

// Returns the configuration's synchroniser for the whole model without pruning.
std::unique_ptr<Synchroniser> planned_synchroniser(const TrainingConfig& config, const Model& model);

// Returns the sizes in bytes of the buckets that are exchanged during backward, in the most likely order;
// one size for all if the method has local steps.
Json bucket_bytes(const TrainingConfig& config, const Model& model, const Synchroniser& synchroniser);

// Returns the means over the run's iterations of what ExpectedTraffic counts: the members "…_per_iteration" of
// a plan, see trainer/commands/check.hh. Throws InputError if the run is too short for its pruning.
Json traffic_per_iteration(const TrainingConfig& config, PlannedModels& models,
                           const Synchroniser& synchroniser, std::int64_t iterations);

}  // namespace thinpipe::trainer

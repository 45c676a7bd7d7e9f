// SPDX-License-Identifier: Apache-2.0
// Rules that compare a configuration's options with its method, its data or its length. They throw InputError.
#pragma once

#include "trainer/datasets/dataset.hh"
#include "trainer/synchronisers/synchroniser.hh"
#include "trainer/training/training_config.hh"

namespace thinpipe::trainer {

// Targets per token or byte need text of a known number of bytes.
void check_targets(const TrainingConfig& config, const Dataset& dataset);

// A method may exclude momentum of the optimiser, clipping, numbers of workers, and evaluations between exchanges.
void check_method(const TrainingConfig& config, const Synchroniser& synchroniser);

// A schedule for a longer run would be in the record, but not in the training.
void check_schedule_acts(const TrainingConfig& config, std::int64_t iterations);

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// The cost of an iteration of one worker on this machine while nothing else runs. Measured with one
// thread, like workers.
#pragma once

#include "trainer/training/training_config.hh"

namespace thinpipe::trainer {

struct ComputeCost {
  double compute_s = 0;  // forward, backward and the optimiser's step: the median of a few iterations
  std::int64_t memory_bytes = 0;  // peak of this process, with an evaluation, plus a worker's buckets
};

// Measures the cost. Uses this process's peak memory: measure only one configuration per process.
ComputeCost measure_compute_cost(const TrainingConfig& config);

}  // namespace thinpipe::trainer

// What an iteration of one worker costs on this machine where nothing else runs: measured, with one thread,
// as workers compute.
#pragma once

#include "trainer/training_config.hh"

namespace thinpipe::trainer {

struct ComputeCost {
  double compute_s = 0;  // forward, backward and the optimiser's step: the median of a few iterations
  std::int64_t memory_bytes = 0;  // the most this process has held, with the buckets that it would have had
};

// Uses this process's own peak of memory: measure one configuration a process.
ComputeCost measure_compute_cost(const TrainingConfig& config);

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// Estimates a compute profile for a device that this machine does not have. One iteration is computed here,
// and RooflineClock times each of its operations. Encoding and decoding each count as two passes that read
// the gradient and two that write it.
#pragma once

#include "common/protocol/compute_profile.hh"
#include "common/protocol/device.hh"
#include "common/protocol/worker_file.hh"
#include "trainer/training/training_loop.hh"

namespace thinpipe::trainer {

struct Estimation {
  EstimateFile file;
  TrainingConfig config;
};

// Strict; throws InputError.
Estimation read_estimation_file(const std::string& path);

// batch_size: examples per iteration. The profile serves replays of `config`, whatever batch size that has.
ComputeProfile estimate_profile(const TrainingConfig& config, const Device& device, std::int64_t batch_size);

// Writes the profile. Emits the events of an in-process training run. Returns whether it finished.
bool estimate(const Estimation& estimation, const EventSink& events);

}  // namespace thinpipe::trainer

// Estimates a compute profile for a device that is not here, from what an iteration asks of it: an iteration
// is computed on this machine once, and each of its operations timed as KernelClock does. Encoding and
// decoding are taken for two passes that read the gradient and two that write it, each.
#pragma once

#include "harness/replay/compute_profile.hh"
#include "harness/replay/device.hh"
#include "trainer/training_loop.hh"

namespace thinpipe::trainer {

struct EstimationFile {
  TrainingConfig config;
  Device device;
  std::optional<std::int64_t> batch_size_per_worker;  // that computing is for; nothing: the configuration's
  std::string output;                                 // path
};

// Strict; throws InputError.
EstimationFile read_estimation_file(const std::string& path);

// batch_size: examples of an iteration. The profile is for replays of `config`, whatever that has.
ComputeProfile estimate_profile(const TrainingConfig& config, const Device& device, std::int64_t batch_size);

// Writes the profile. Events as of a training in one process. Returns whether it finished.
bool estimate(const EstimationFile& file, const EventSink& events);

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// Measures a compute profile: the time of each part of an iteration on this machine, with as many workers at
// once as in the run. The workers are processes, as in the run: threads of one process slow each other down,
// above all in models of many small operations.
#pragma once

#include "common/protocol/compute_profile.hh"
#include "trainer/commands/worker.hh"

namespace thinpipe::trainer {

struct Profiling {
  ProfileFile file;
  TrainingConfig config;
};

// Strict; throws InputError.
Profiling read_profile_file(const std::string& path);

// Trains together with the other workers until the mean is known well enough, or for the file's `max_s`.
// Returns whether training finished.
bool profile(const Profiling& profiling, const EventSink& events);

}  // namespace thinpipe::trainer

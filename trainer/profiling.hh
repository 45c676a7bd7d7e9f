// Measures a compute profile: what each part of an iteration takes on this machine, with so many workers at
// once as it will have at its work. They are threads of one process, which exchange what they compute through
// memory.
#pragma once

#include "harness/replay/compute_profile.hh"
#include "trainer/in_process_training.hh"

namespace thinpipe::trainer {

struct ProfileFile {
  InProcessTraining training;  // its "workers" compute at the same time
  std::int64_t iterations = 20;
  std::string output;  // path
};

// Strict; throws InputError.
ProfileFile read_profile_file(const std::string& path);

// Trains for a few iterations and writes the profile. Returns whether it finished.
bool profile(const ProfileFile& file, const EventSink& events);

}  // namespace thinpipe::trainer

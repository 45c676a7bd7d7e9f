// Measures a compute profile: what each part of an iteration takes on this machine, with so many workers at
// once as it will have at its work. They are processes, as at their work: threads of one process get in each
// other's way, most so in models of many small operations.
#pragma once

#include "harness/replay/compute_profile.hh"
#include "trainer/worker.hh"

namespace thinpipe::trainer {

struct ProfileFile {
  WorkerFile worker;
  double longest_s = 0;  // of measuring; it ends earlier once the mean is known well
  std::string output;    // path; rank 0 writes it
};

// Strict; throws InputError.
ProfileFile read_profile_file(const std::string& path);

// Trains until the mean is known well, or for some seconds, together with the other workers. Returns whether
// it finished.
bool profile(const ProfileFile& file, const EventSink& events);

}  // namespace thinpipe::trainer

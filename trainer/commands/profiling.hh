// Measures a compute profile: the time of each part of an iteration on this machine, with as many workers at
// once as in the run. The workers are processes, as in the run: threads of one process slow each other down,
// above all in models of many small operations.
#pragma once

#include "common/protocol/compute_profile.hh"
#include "trainer/commands/worker.hh"

namespace thinpipe::trainer {

struct ProfileFile {
  WorkerFile worker;
  double longest_s = 0;  // upper bound on the measurement; it ends earlier if the mean is known well enough
  std::string output;    // path; rank 0 writes it
};

// Strict; throws InputError.
ProfileFile read_profile_file(const std::string& path);

// Trains together with the other workers until the mean is known well enough, or for `longest_s`. Returns
// whether training finished.
bool profile(const ProfileFile& file, const EventSink& events);

}  // namespace thinpipe::trainer

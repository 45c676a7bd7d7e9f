// SPDX-License-Identifier: Apache-2.0
// Executes an experiment's runs as tasks of Slurm's job arrays, each by a `thinpipe run` of its own on one node.
#pragma once

#include <string>
#include <vector>

#include "common/support/signals.hh"
#include "harness/run/sweep.hh"

namespace thinpipe {

struct SlurmOptions {
  std::vector<std::string> command;         // `thinpipe run EXPERIMENT ...`, as the tasks call it
  std::vector<std::string> sbatch_options;  // the user's
  bool detach = false;                      // returns after the submission
};

// Submits the runs that are neither kept nor already in Slurm's hands, and waits until all have ended, unless detached.
// Tasks of their own make what several runs share, and replays wait for their convergence runs. These are dependencies
// of jobs, so no run waits on its node. A stop leaves the jobs with Slurm. Throws Error if Slurm refuses the jobs.
SweepResult run_on_slurm(const std::vector<Run>& runs, KeptRuns kept, const SweepOptions& sweep,
                         const SlurmOptions& options, StopSignals& stop);

}  // namespace thinpipe

// SPDX-License-Identifier: Apache-2.0
// Reads the points of an experiment, has the trainer check them, and decides what their configurations leave
// open: the collective, its reduction tree, and the size of buckets.
#pragma once

#include <string>
#include <vector>

#include "harness/experiment/experiment.hh"
#include "harness/plan/run.hh"
#include "harness/plan/trainer_program.hh"

namespace thinpipe {

// Returns the runs of the points, without ids and convergence runs. Checking a large model takes seconds, so
// only the runs that matching() needs for the pattern are checked and returned (see needed_for). Throws
// InputError naming the place in the experiment or topology file.
std::vector<Run> read_checked_runs(const Experiment& experiment, const TrainerProgram& trainer,
                                   const std::string& pattern);

}  // namespace thinpipe

// SPDX-License-Identifier: Apache-2.0
// Plans the runs of an experiment: validates all of them and fills in every default, before any starts.
#pragma once

#include <string>
#include <vector>

#include "harness/experiment/experiment.hh"
#include "harness/plan/run.hh"
#include "harness/plan/trainer_program.hh"

namespace thinpipe {

// Returns the runs of the experiment, including those whose GPU, data or weights are missing (see
// Run::missing). Identical points become one run with the labels of the first. The convergence run of a
// training run comes before its first replay, with the labels that all its replays share.
//
// `only`: if not empty, returns and checks only the runs whose label, as a whole or on one axis, matches this
// shell pattern, and the convergence runs that they replay.
//
// Throws InputError naming the place in the experiment or topology file, or if the pattern matches no run.
std::vector<Run> plan_runs(const Experiment& experiment, const TrainerProgram& trainer,
                           const std::string& only = {});

// Throws InputError if this machine lacks something that one of the runs needs.
void require_all_here(const std::vector<Run>& runs);

}  // namespace thinpipe

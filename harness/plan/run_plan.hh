// The runs of an experiment, validated and with every default filled in: nothing starts before all of it is
// right.
#pragma once

#include <string>
#include <vector>

#include "harness/experiment/experiment.hh"
#include "harness/plan/run.hh"
#include "harness/plan/trainer_program.hh"

namespace thinpipe {

// Plans runs whose GPU, data or weights are missing, too: see Run::missing.
// Identical points become one run, under the labels of the first. Before the first replay of a training comes
// its convergence run, under the labels that all its replays share. Throws InputError naming the place in the
// experiment (or topology) file.
std::vector<Run> plan_runs(const Experiment& experiment, const TrainerProgram& trainer);

// Throws InputError if this machine lacks something that one of the runs needs.
void require_all_here(const std::vector<Run>& runs);

// Those whose label matches the shell pattern, as does any one of their labels' values, and the convergence
// runs that these replay; an empty pattern matches all. Throws InputError when none does.
std::vector<Run> matching(std::vector<Run> runs, const std::string& pattern);

}  // namespace thinpipe

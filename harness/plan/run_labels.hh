// SPDX-License-Identifier: Apache-2.0
// The labels of runs, and their selection by a pattern (--only). Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/plan/run.hh"

namespace thinpipe {

// Returns a replay's labels except that on the axis "mode". Its convergence run has those of them that all its
// replays share.
Labels labels_of_convergence(const Run& replay);

// Removes the labels that are not among `others`.
void keep_shared(Labels& labels, const Labels& others);

// Returns whether the shell pattern matches the whole label, or the label on one axis.
bool matches(const Labels& labels, const std::string& pattern);

// A run's training before the trainer has checked it.
struct UncheckedTraining {
  std::size_t config = 0;              // equal if the configurations are
  std::size_t but_for_collective = 0;  // equal if they differ at most in the collective
};

// Returns, for each run, whether it must be checked for matching() to give the same result as with all runs.
// Replays that may share a convergence run are all checked or none, because they decide its labels. Throws
// InputError if the pattern matches no label.
std::vector<bool> needed_for(const std::vector<Run>& runs, const std::vector<UncheckedTraining>& trainings,
                             const std::string& pattern);

// Returns the runs whose labels match the pattern, and the convergence runs that these replay. An empty
// pattern matches all. Throws InputError if none matches.
std::vector<Run> matching(std::vector<Run> runs, const std::string& pattern);

}  // namespace thinpipe

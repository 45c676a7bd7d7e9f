// SPDX-License-Identifier: Apache-2.0
// The task of Slurm for each run that was submitted. Pure.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/slurm/slurm.hh"
#include "harness/slurm/submission.hh"

namespace thinpipe {

struct TaskOfRun {
  std::string label;  // the run's
  std::string log;    // the file with what the task printed
  SlurmTask task;     // its state is empty if Slurm knows the task no longer
};

// Returns the last task of each submitted run, by the run's id. `tasks`: those that Slurm knows.
std::map<std::string, TaskOfRun> tasks_of_runs(const std::vector<Submission>& submissions,
                                               const std::vector<SlurmTask>& tasks,
                                               const std::filesystem::path& results);

// Returns whether the run's task still waits or runs.
bool is_live(const std::map<std::string, TaskOfRun>& tasks, const std::string& run_id);

}  // namespace thinpipe

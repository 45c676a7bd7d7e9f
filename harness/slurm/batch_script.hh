// SPDX-License-Identifier: Apache-2.0
// The script that Slurm runs for a job array: each task executes one run of the experiment. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/slurm/submission.hh"

namespace thinpipe {

// What each task of an array needs.
struct TaskNeeds {
  std::int64_t nodes = 1;
  bool exclusive = false;  // no other job may run on the nodes, where it would disturb the run

  auto operator<=>(const TaskNeeds&) const = default;
};

// Returns the script. `command`: `thinpipe run EXPERIMENT ...` for all runs.
std::string batch_script(const Submission& submission, const std::vector<std::string>& command,
                         const TaskNeeds& needs);

// Returns the options of sbatch that have paths: the tasks work in `directory`, and log beside the submission in
// `results`, the experiment's own folder. Both are absolute.
std::vector<std::string> sbatch_paths(const Submission& submission, const std::filesystem::path& results,
                                      const std::filesystem::path& directory);

// Returns the word as a shell reads it literally.
std::string quoted_for_shell(const std::string& word);

}  // namespace thinpipe

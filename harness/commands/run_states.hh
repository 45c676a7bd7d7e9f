// SPDX-License-Identifier: Apache-2.0
// The states of the runs in a results folder, whether this machine or Slurm executes them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace thinpipe {

struct RunState {
  std::string experiment;
  std::string id;
  std::string label;
  // "waiting" or "running", by Slurm or a controller here; as its record says, "completed", "failed" or
  // "interrupted"; "lost" if it has no record, and nobody executes it or will; "unreadable" if its record is.
  std::string state;
  std::string about;                    // who runs it, why it waits or failed, where its output is
  std::optional<std::string> job = {};  // of Slurm, JOB_TASK
};

// Returns the runs of an experiment's folder, or of all experiments in a folder of results: those with a record, those
// that are running and those that were submitted to Slurm. Throws InputError if there is none, and Error if Slurm
// cannot be asked about those that were submitted.
std::vector<RunState> run_states(const std::filesystem::path& results);

// Returns the folders of experiments that `results` is or has. Throws InputError if there is none.
std::vector<std::filesystem::path> experiment_folders(const std::filesystem::path& results);

}  // namespace thinpipe

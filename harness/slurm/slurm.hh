// SPDX-License-Identifier: Apache-2.0
// Slurm's programs: sbatch, squeue, scancel, scontrol.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thinpipe {

// A task of a job array.
struct SlurmTask {
  std::string job_name;
  std::string job = {};     // the array's id
  std::int64_t index = 0;   // in its array
  std::string state = {};   // in Slurm's words, such as PENDING or TIMEOUT
  std::string node = {};    // on which it runs; empty if it waits
  std::string reason = {};  // why it waits, in Slurm's words

  bool operator==(const SlurmTask&) const = default;
};

// Returns whether a task in this state has neither ended nor lost its resources for good.
bool is_live(const SlurmTask& task);
bool waits(const SlurmTask& task);

// Reads what squeue prints in the format of Slurm::tasks(). Throws Error if a line is not of it.
std::vector<SlurmTask> parse_tasks(std::string_view text);

// Reads MaxArraySize from what `scontrol show config` prints. Throws Error if it is not there.
std::int64_t parse_max_array_size(std::string_view text);

// Each member throws Error with the command if it fails; Slurm's own message is then on standard error.
class Slurm {
 public:
  // Submits a batch script, with further options. Returns the job's id.
  std::string submit(const std::string& script, const std::vector<std::string>& options) const;

  // Returns the tasks of the jobs with these names: those that wait and run, and, for as long as Slurm remembers
  // them, those that have ended.
  std::vector<SlurmTask> tasks(const std::vector<std::string>& job_names) const;

  void cancel(const std::vector<std::string>& job_names) const;

  // Returns the number of tasks that one array may have.
  std::int64_t max_array_size() const;
};

}  // namespace thinpipe

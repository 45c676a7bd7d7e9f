// SPDX-License-Identifier: Apache-2.0
// The Slurm job in which this process runs.
#pragma once

#include <optional>
#include <string>

namespace thinpipe {

struct SlurmJob {
  std::string id;         // of a task of an array: its own
  bool requeued = false;  // started once more, with the same id, after preemption or the loss of its node
};

// Returns nullopt outside of a job.
std::optional<SlurmJob> this_slurm_job();

}  // namespace thinpipe

// SPDX-License-Identifier: Apache-2.0
#include "harness/records/slurm_job.hh"

#include <cstdlib>
#include <string_view>

namespace thinpipe {

std::optional<SlurmJob> this_slurm_job() {
  const char* const id = std::getenv("SLURM_JOB_ID");
  if (id == nullptr) return std::nullopt;
  const char* const restarts = std::getenv("SLURM_RESTART_COUNT");  // Slurm sets it from the first restart on
  return SlurmJob{.id = id, .requeued = restarts != nullptr && std::string_view(restarts) != "0"};
}

}  // namespace thinpipe

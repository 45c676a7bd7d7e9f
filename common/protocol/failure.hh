// SPDX-License-Identifier: Apache-2.0
// The failure of a run's workers, for logs and records.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace thinpipe {

struct Failure {
  // Reported by the trainer (full_disk.hh has a special one), or crash, hang, stall, protocol, start, harness.
  std::string kind;
  std::optional<std::int64_t> rank = {};
  std::string message;
  std::string exit_status = {};                 // "exit code 1", "signal 9 (Killed)"; empty if none ended
  std::vector<std::string> log_tail = {};       // the last lines of the rank's log
  std::vector<std::string> worker_states = {};  // each worker's state when the job was given up
};

}  // namespace thinpipe

// How a run's workers failed, as events, logs and records have it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe {

struct Failure {
  std::string kind;  // the trainer's own, or crash, hang, stall, protocol, start, harness
  std::optional<std::int64_t> rank = {};
  std::string message;
  std::string exit_status = {};                 // "exit code 1", "signal 9 (Killed)"; empty where none ended
  std::vector<std::string> log_tail = {};       // the rank's last lines
  std::vector<std::string> worker_states = {};  // what had become of each worker when the job was given up
};
Json to_json(const Failure& failure);

}  // namespace thinpipe

// Planned faults and slowdowns of workers during a run. Pure.
//
//   "worker_events": [{"at": "5 s", "worker": 3, "action": "kill"},           or "pause", "resume"
//                     {"at_iteration": 40, "worker": 1, "action": "pause"},
//                     {"worker": 2, "slowdown": 2.0}]                         a straggler, from the beginning
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/protocol/worker_action.hh"
#include "common/support/json_object.hh"

namespace thinpipe {

struct WorkerEvent {
  std::int64_t worker = 0;  // its rank
  // One of: time since training began; number of iterations that have ended.
  std::optional<double> at_s = {};
  std::optional<std::int64_t> at_iteration = {};
  // One of: an action; the factor by which its compute time grows from at_iteration on.
  std::optional<WorkerAction> action = {};
  std::optional<double> slowdown = {};
  Place place = {};  // where the user wrote it
};

// Reads member "worker_events" of a run's configuration, in the user's order; empty if there is none.
// Throws InputError naming place, rule and remedy.
std::vector<WorkerEvent> read_worker_events(JsonObject& config, std::int64_t workers);

// Returns the normalised entry: those of "at_s", "at_iteration", "worker", "action", "slowdown" that it has.
Json to_json(const WorkerEvent& event);

// Returns this worker's slowdowns for its worker.json: [{"at_iteration", "factor"}], by iteration.
Json slowdowns_of(const std::vector<WorkerEvent>& events, std::int64_t worker);

}  // namespace thinpipe

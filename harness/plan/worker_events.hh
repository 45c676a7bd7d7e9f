// What is to befall workers while a run trains, for experiments about faults and stragglers. Pure.
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
  std::int64_t worker = 0;                        // its rank
  std::optional<double> at_s = {};                // after training began; or else
  std::optional<std::int64_t> at_iteration = {};  // when so many iterations have ended
  std::optional<WorkerAction> action = {};        // or else
  std::optional<double> slowdown = {};  // its computing takes so many times as long from that iteration on
  Place place = {};                     // where the user wrote it
};

// Reads member "worker_events" of a run's configuration, in the user's order; empty where there is none.
// Throws InputError naming place, rule and remedy.
std::vector<WorkerEvent> read_worker_events(JsonObject& config, std::int64_t workers);

// The normalised entry: those of "at_s", "at_iteration", "worker", "action", "slowdown" that it has.
Json to_json(const WorkerEvent& event);

// What worker.json tells this worker: [{"at_iteration", "factor"}], in the order of iterations.
Json slowdowns_of(const std::vector<WorkerEvent>& events, std::int64_t worker);

}  // namespace thinpipe

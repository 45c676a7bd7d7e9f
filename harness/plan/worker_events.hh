// SPDX-License-Identifier: Apache-2.0
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
#include "common/protocol/worker_file.hh"
#include "common/support/options.hh"

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

const std::vector<std::string>& worker_action_names();
std::string name_of(WorkerAction action);

// An entry of "worker_events".
struct WorkerEventOptions {
  std::int64_t worker = 0;
  std::optional<double> at_s = {};
  std::optional<std::int64_t> at_iteration = {};
  std::optional<std::string> action = {};
  std::optional<double> slowdown = {};

  void visit(auto& field) {
    field("worker", worker, Rule{.effect = "its rank", .at_least = 0, .required = true});
    field("at", at_s,
          Rule{.effect = "time since the first evaluation", .quantity = Quantity::duration, .at_least = 0});
    field("at_iteration", at_iteration,
          Rule{.effect = "number of iterations that have ended; null for a slowdown: from the first one",
               .at_least = 0});
    field("action", action, Rule{.effect = "what happens to its process", .one_of = worker_action_names()});
    field("slowdown", slowdown,
          Rule{.effect = "factor by which its compute time grows from then on", .at_least = 1});
  }
};

// Returns the events in the user's order. `place` is the list's. Throws InputError naming place, rule and
// remedy.
std::vector<WorkerEvent> make_worker_events(const std::vector<WorkerEventOptions>& options,
                                            const Place& place, std::int64_t workers);

// Returns the normalised entry: "worker", and those of "at_s", "at_iteration", "action" and "slowdown" that
// are set.
Json to_json(const WorkerEvent& event);

// Returns this worker's slowdowns for its worker file, by iteration.
std::vector<Slowdown> slowdowns_of(const std::vector<WorkerEvent>& events, std::int64_t worker);

}  // namespace thinpipe

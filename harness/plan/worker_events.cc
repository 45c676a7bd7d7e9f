// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/worker_events.hh"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace thinpipe {
namespace {

constexpr std::array<std::pair<const char*, WorkerAction>, 3> actions = {
    {{"kill", WorkerAction::kill}, {"pause", WorkerAction::pause}, {"resume", WorkerAction::resume}}};

WorkerEvent make_worker_event(const WorkerEventOptions& options, const Place& place, std::int64_t workers) {
  WorkerEvent event{.worker = options.worker,
                    .at_s = options.at_s,
                    .at_iteration = options.at_iteration,
                    .slowdown = options.slowdown,
                    .place = place};
  if (event.worker >= workers) {
    throw InputError(place / "worker", fmt::format("must be below {}, the number of workers, but is {}",
                                                   workers, event.worker));
  }
  if (options.action.has_value() == event.slowdown.has_value()) {
    throw InputError(place, R"(needs either "action" or "slowdown"; write a second event for the other)");
  }
  if (event.slowdown) {
    if (event.at_s) {
      throw InputError(place / "at", R"(is not for a "slowdown", which begins at an iteration: write )"
                                     R"("at_iteration", or neither for the first)");
    }
    if (!event.at_iteration) event.at_iteration = 0;
    return event;
  }
  if (event.at_s.has_value() == event.at_iteration.has_value()) {
    throw InputError(place, R"(needs either "at", such as "5 s", or "at_iteration")");
  }
  for (const auto& [name, action] : actions) {
    if (*options.action == name) event.action = action;
  }
  return event;
}

// Throws InputError if a worker is resumed but never paused.
void check_resumed_ones_are_paused(const std::vector<WorkerEvent>& events) {
  for (const WorkerEvent& event : events) {
    if (event.action != WorkerAction::resume) continue;
    const bool paused = std::ranges::any_of(events, [&event](const WorkerEvent& other) {
      return other.worker == event.worker && other.action == WorkerAction::pause;
    });
    if (!paused) {
      throw InputError(event.place / "action",
                       fmt::format("worker {} is never paused; add a \"pause\" before this", event.worker));
    }
  }
}

}  // namespace

const std::vector<std::string>& worker_action_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const auto& [name, action] : actions) out.emplace_back(name);
    return out;
  }();
  return names;
}

std::string name_of(WorkerAction action) {
  return std::ranges::find(actions, action, &std::pair<const char*, WorkerAction>::second)->first;
}

std::vector<WorkerEvent> make_worker_events(const std::vector<WorkerEventOptions>& options,
                                            const Place& place, std::int64_t workers) {
  std::vector<WorkerEvent> events;
  for (std::size_t i = 0; i < options.size(); ++i) {
    events.push_back(make_worker_event(options[i], place / i, workers));
  }
  check_resumed_ones_are_paused(events);
  return events;
}

Json to_json(const WorkerEvent& event) {
  Json out = {{"worker", event.worker}};
  if (event.at_s) out["at_s"] = *event.at_s;
  if (event.at_iteration) out["at_iteration"] = *event.at_iteration;
  if (event.slowdown) out["slowdown"] = *event.slowdown;
  if (event.action) out["action"] = name_of(*event.action);
  return out;
}

std::vector<Slowdown> slowdowns_of(const std::vector<WorkerEvent>& events, std::int64_t worker) {
  std::vector<Slowdown> found;
  for (const WorkerEvent& event : events) {
    if (event.worker == worker && event.slowdown) {
      found.push_back({.at_iteration = *event.at_iteration, .factor = *event.slowdown});
    }
  }
  std::ranges::stable_sort(found, {}, &Slowdown::at_iteration);
  return found;
}

}  // namespace thinpipe

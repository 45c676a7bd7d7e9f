#include "harness/plan/worker_events.hh"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace thinpipe {
namespace {

constexpr std::array<std::pair<const char*, WorkerAction>, 3> actions = {
    {{"kill", WorkerAction::kill}, {"pause", WorkerAction::pause}, {"resume", WorkerAction::resume}}};

std::vector<std::string> action_names() {
  std::vector<std::string> names;
  for (const auto& [name, action] : actions) names.emplace_back(name);
  return names;
}

WorkerEvent read_worker_event(const Json& value, const Place& place, std::int64_t workers) {
  JsonObject object(value, place);
  WorkerEvent event{.place = place};
  std::optional<std::string> action;
  object.read("worker", event.worker, {.at_least = 0, .required = true});
  object.read("at", event.at_s, {.quantity = Quantity::duration, .at_least = 0});
  object.read("at_iteration", event.at_iteration, {.at_least = 0});
  object.read("action", action, {.one_of = action_names()});
  object.read("slowdown", event.slowdown, {.at_least = 1});
  object.finish();
  if (event.worker >= workers) {
    throw InputError(place / "worker", fmt::format("must be below {}, the number of workers, but is {}",
                                                   workers, event.worker));
  }
  if (action.has_value() == event.slowdown.has_value()) {
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
  event.action = std::ranges::find(actions, *action, [](const auto& entry) { return entry.first; })->second;
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

std::vector<WorkerEvent> read_worker_events(JsonObject& config, std::int64_t workers) {
  std::vector<WorkerEvent> events;
  const Json* const value = config.find("worker_events");
  if (value == nullptr || value->is_null()) return events;
  const Place place = config.place_of("worker_events");
  if (!value->is_array()) throw InputError(place, "must be a list, but is " + value->dump());
  for (std::size_t i = 0; i < value->size(); ++i) {
    events.push_back(read_worker_event((*value)[i], place / i, workers));
  }
  check_resumed_ones_are_paused(events);
  return events;
}

Json to_json(const WorkerEvent& event) {
  Json out = {{"worker", event.worker}};
  if (event.at_s) out["at_s"] = *event.at_s;
  if (event.at_iteration) out["at_iteration"] = *event.at_iteration;
  if (event.slowdown) out["slowdown"] = *event.slowdown;
  for (const auto& [name, action] : actions) {
    if (event.action == action) out["action"] = name;
  }
  return out;
}

Json slowdowns_of(const std::vector<WorkerEvent>& events, std::int64_t worker) {
  std::vector<std::pair<std::int64_t, double>> found;
  for (const WorkerEvent& event : events) {
    if (event.worker == worker && event.slowdown) found.emplace_back(*event.at_iteration, *event.slowdown);
  }
  std::ranges::stable_sort(found, {}, &std::pair<std::int64_t, double>::first);
  Json out = Json::array();
  for (const auto& [at_iteration, factor] : found) {
    out.push_back({{"at_iteration", at_iteration}, {"factor", factor}});
  }
  return out;
}

}  // namespace thinpipe

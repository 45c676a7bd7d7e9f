#include "harness/run/fault_injector.hh"

#include <fmt/format.h>

namespace thinpipe {

FaultInjector::FaultInjector(const std::vector<WorkerEvent>& events) {
  for (const WorkerEvent& event : events) entries_.push_back({.event = event});
}

void FaultInjector::begin(double now_s) {
  began_ = true;
  began_s_ = now_s;
}

std::vector<std::string> FaultInjector::apply_due(double now_s, std::int64_t iterations, double train_time_s,
                                                  WorkerControl& workers) {
  std::vector<std::string> lines;
  if (!began_) return lines;
  for (Entry& entry : entries_) {
    const WorkerEvent& event = entry.event;
    const bool due = event.at_s ? began_s_ + *event.at_s <= now_s : iterations >= *event.at_iteration;
    if (entry.happened || !due) continue;
    // Workers apply slowdowns themselves, from worker.json.
    if (event.action) workers.apply(*event.action, event.worker);
    entry = {.event = event,
             .happened = true,
             .happened_s = now_s - began_s_,
             .iteration = iterations,
             .train_time_s = train_time_s};
    lines.push_back(fmt::format("after iteration {}: {}", iterations, thinpipe::to_json(event).dump()));
  }
  return lines;
}

Json FaultInjector::to_json() const {
  Json out = Json::array();
  for (const Entry& entry : entries_) {
    Json written = thinpipe::to_json(entry.event);
    written["happened_s"] = entry.happened ? Json(entry.happened_s) : Json(nullptr);
    written["iteration"] = entry.happened ? Json(entry.iteration) : Json(nullptr);
    written["train_time_s"] = entry.happened ? Json(entry.train_time_s) : Json(nullptr);
    out.push_back(std::move(written));
  }
  return out;
}

std::vector<WorkerEvent> FaultInjector::missed() const {
  std::vector<WorkerEvent> out;
  for (const Entry& entry : entries_) {
    if (!entry.happened) out.push_back(entry.event);
  }
  return out;
}

}  // namespace thinpipe

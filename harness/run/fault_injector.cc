// SPDX-License-Identifier: Apache-2.0
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

std::vector<record::WorkerEvent> FaultInjector::recorded() const {
  std::vector<record::WorkerEvent> out;
  for (const Entry& entry : entries_) {
    const WorkerEvent& event = entry.event;
    out.push_back({.worker = event.worker,
                   .at_s = event.at_s,
                   .at_iteration = event.at_iteration,
                   .action = event.action ? std::optional(name_of(*event.action)) : std::nullopt,
                   .slowdown = event.slowdown});
    if (!entry.happened) continue;
    out.back().happened_s = entry.happened_s;
    out.back().iteration = entry.iteration;
    out.back().train_time_s = entry.train_time_s;
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

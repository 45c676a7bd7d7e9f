// SPDX-License-Identifier: Apache-2.0
// Applies an experiment's worker events during a run, and records them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/executors/executor.hh"
#include "harness/plan/worker_events.hh"
#include "harness/records/record_data.hh"

namespace thinpipe {

class FaultInjector {
 public:
  explicit FaultInjector(const std::vector<WorkerEvent>& events);

  // Training begins at this moment of the monotonic clock, in seconds; nothing happens before.
  void begin(double now_s);

  // Applies the events that are due, each once. `iterations` have ended, which took `train_time_s`. Returns a
  // line about each event.
  std::vector<std::string> apply_due(double now_s, std::int64_t iterations, double train_time_s,
                                     WorkerControl& workers);

  // Returns each event with the moment at which it happened, counted from the beginning of training.
  std::vector<record::WorkerEvent> recorded() const;

  // Returns the events that have not happened.
  std::vector<WorkerEvent> missed() const;

 private:
  struct Entry {
    WorkerEvent event;
    bool happened = false;
    double happened_s = 0;
    std::int64_t iteration = 0;
    double train_time_s = 0;
  };

  std::vector<Entry> entries_;
  bool began_ = false;
  double began_s_ = 0;
};

}  // namespace thinpipe

// Lets happen to the workers of a run what its experiment asks for, and keeps account of it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/executors/executor.hh"
#include "harness/plan/worker_events.hh"

namespace thinpipe {

class FaultInjector {
 public:
  explicit FaultInjector(const std::vector<WorkerEvent>& events);

  // Training begins at this moment of the monotonic clock, in seconds; nothing happens before.
  void begin(double now_s);

  // Lets every event happen that is due, each once. `iterations` have ended, which took `train_time_s`.
  // Returns a line about each that did.
  std::vector<std::string> apply_due(double now_s, std::int64_t iterations, double train_time_s,
                                     WorkerControl& workers);

  // The record's "worker_events": each event with "happened_s" since training began, "iteration" and
  // "train_time_s" when it happened; nulls where it did not.
  Json to_json() const;

  // Those that have not happened.
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

// Records a CommunicationTrace while workers train, with one recorder per worker.
#pragma once

#include <map>

#include "common/protocol/trace.hh"

namespace thinpipe {

// Numbers distinct exchanges from 0.
class ExchangeTable {
 public:
  std::size_t number_of(Exchange exchange);
  std::vector<Exchange> by_number() const;

 private:
  std::map<Exchange, std::size_t> numbers_;
};

class TraceRecorder {
 public:
  // Sets the buckets of the following exchanges.
  void lay_out(TracedLayout layout);

  void begin_bucket(std::size_t bucket);
  void add(CollectiveCall call);

  // Ends a step. A step without a bucket is a local step.
  void end_step();

  // Adds the recorded steps of all workers, in the order of their ranks. All must have the same layouts.
  static void finish(const std::vector<TraceRecorder>& recorders, CommunicationTrace& trace);

 private:
  std::vector<TracedLayout> layouts_;
  ExchangeTable exchanges_;
  std::vector<StepRun> steps_;
  std::optional<Exchange> current_;  // of the current step
  std::size_t bucket_ = 0;           // the current one
};

}  // namespace thinpipe

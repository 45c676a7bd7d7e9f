// Makes a CommunicationTrace while workers train: a recorder for each of them.
#pragma once

#include <map>

#include "harness/replay/trace.hh"

namespace thinpipe {

// Gives equal exchanges the same number, from 0 on.
class ExchangeTable {
 public:
  std::size_t number_of(Exchange exchange);
  std::vector<Exchange> by_number() const;

 private:
  std::map<Exchange, std::size_t> numbers_;
};

class TraceRecorder {
 public:
  // The buckets of the exchanges to come.
  void lay_out(TracedLayout layout);

  void begin_bucket(std::size_t bucket);
  void add(CollectiveCall call);

  // A step is over; without a bucket since the last one it was a local step.
  void end_step();

  // Adds what all workers did; they had the same layouts. By rank.
  static void finish(const std::vector<TraceRecorder>& recorders, CommunicationTrace& trace);

 private:
  std::vector<TracedLayout> layouts_;
  ExchangeTable exchanges_;
  std::vector<StepRun> steps_;
  std::optional<Exchange> current_;  // of the step at hand
  std::size_t bucket_ = 0;           // at hand
};

}  // namespace thinpipe

// SPDX-License-Identifier: Apache-2.0
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

// One exchange at a time:
//
//   recorder.begin_exchange(layout);
//   recorder.begin_bucket(0);         // on the thread that communicates, until finish_exchange()
//   recorder.add(call);
//   recorder.finish_exchange();
//   recorder.end_step();
//
// With overlap_steps, that many calls of end_step() come between begin_exchange() and finish_exchange().
class TraceRecorder {
 public:
  TraceRecorder() = default;
  // Continues the recording of worker `rank`, whose first steps are in this trace.
  TraceRecorder(const CommunicationTrace& recorded, std::size_t rank);

  // Returns the index of this layout of buckets, and adds it if it is new.
  std::size_t lay_out(TracedLayout layout);

  // Begins an exchange over the buckets of the layout with that index.
  void begin_exchange(std::size_t layout, std::optional<std::int64_t> overlap_steps = {});
  void begin_bucket(std::size_t bucket);
  void add(CollectiveCall call);
  void finish_exchange();

  // Returns whether all exchanges are a part of the steps that have ended.
  bool is_complete() const { return !current_; }

  // Ends a step. A step in which no exchange begins is a local step.
  void end_step();

  // Adds the recorded steps of all workers, in the order of their ranks. All must have the same layouts.
  static void finish(const std::vector<TraceRecorder>& recorders, CommunicationTrace& trace);

 private:
  void append_current();

  std::vector<TracedLayout> layouts_;
  ExchangeTable exchanges_;
  std::vector<StepRun> steps_;
  std::optional<Exchange> current_;     // the last one begun, until its step is in steps_
  bool in_flight_ = false;              // whether it is not finished
  std::int64_t steps_since_begin_ = 0;  // ended since it began
  std::size_t bucket_ = 0;              // the current one
};

}  // namespace thinpipe

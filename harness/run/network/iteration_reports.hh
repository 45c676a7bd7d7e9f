// SPDX-License-Identifier: Apache-2.0
// Sets a run's train clock from rank 0's reports of the starts and ends of its iterations. Pure.
#pragma once

#include <optional>

#include "common/protocol/event.hh"
#include "netem/kernel/wakeup_latency.hh"
#include "netem/topology/train_clock.hh"

namespace thinpipe {

class IterationReports {
 public:
  // `clock` must outlive this. No iteration starts before this moment of the monotonic clock.
  IterationReports(netem::TrainClock& clock, double now_s) : clock_(clock), earliest_s_(now_s) {}

  // Each takes an event of rank 0 at this moment of the monotonic clock; its train time must be the run's.
  // Throws InvalidEvent if an iteration starts at an impossible train time or moment.
  void take(const event::IterationStarted& started, double now_s);
  // Throws InvalidEvent if the iteration's start was not reported, or its times are not.
  void take(const event::Iteration& ended, double now_s);

  // Returns the record's "train_clock": {"stop_delay": {"count", "median_s", "p99_s", "max_s"}}.
  Json to_json() const { return {{"stop_delay", late_.to_json()}}; }

 private:
  netem::TrainClock& clock_;
  double earliest_s_;
  double started_train_time_s_ = 0;  // of the latest iteration, which began at earliest_s_
  netem::WakeupLatency late_;        // how late ends of iterations arrive
};

}  // namespace thinpipe

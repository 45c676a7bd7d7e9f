// SPDX-License-Identifier: Apache-2.0
// Changes a network during a run by its schedule, and records every change.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "netem/network.hh"
#include "netem/topology/schedule.hh"
#include "netem/topology/train_clock.hh"

namespace thinpipe::netem {

// One entry of the schedule and its outcome. Times are seconds since training began, by the monotonic
// clock unless noted otherwise.
struct NetworkChange {
  double at_s = 0;  // when it was due, by `clock`
  std::string link = {};
  Change asked = {};
  bool traced = false;  // a step of the rate trace, not an event
  TraceClock clock = TraceClock::wall;
  // When it was read back from the kernel; nullopt if it never happened.
  std::optional<double> confirmed_s = {};
  // The same moment in train time; nullopt unless a trace follows train time.
  std::optional<double> confirmed_train_time_s = {};
  // The directions as read back from the kernel; empty for "up" and "down".
  std::vector<ShapedDirection> held = {};
  // The names of the directions that went up or down.
  std::vector<std::string> switched = {};
  Place place = {};  // where the user wrote it
};

// {"at_s", "clock": "train" or "wall", "link", "source": "event" or "trace", "requested", "confirmed_s",
// "confirmed_train_time_s", "applied"}
Json to_json(const NetworkChange& change);

class ScheduleRunner {
 public:
  // Both must outlive this.
  ScheduleRunner(Network& network, const Schedule& schedule);

  // Starts the schedule: training begins at this moment of the monotonic clock, in seconds. Nothing changes
  // before.
  void begin(double now_s);

  // Returns the train time, which a trace of TraceClock::train follows. The receiver of iteration events sets
  // it; until then it is 0.
  TrainClock& train_clock() { return train_clock_; }

  // Sets train time back to `train_time_s`, from which training resumes after a worker has failed. The step
  // of the trace at that time becomes due again.
  void set_back(double train_time_s);

  // Returns true if a change is due by this moment.
  bool is_due(double now_s) const;

  // Makes every change that is due, in order, and reads each back. Returns their number. Throws Error if the
  // kernel refuses one or holds something else.
  std::size_t apply_due(double now_s);

  // Returns the changes made so far, in order.
  const std::vector<NetworkChange>& changes() const { return changes_; }

  // Returns the events that have not happened.
  std::vector<NetworkChange> missed() const;

  // Returns the mean cap of a direction, by its index in Network::counters, between two moments of the
  // monotonic clock; a link that is down counts as 0. Returns 0 if no time lies between the two.
  // If a trace follows train time, the mean is over the train time up to the second moment: evaluations,
  // during which the trace stands still, do not count.
  double mean_rate_bit_per_s(std::size_t direction, double from_s, double to_s) const;

 private:
  struct Cap {
    double since_s;
    double since_train_time_s;
    double rate_bit_per_s;
  };

  std::optional<double> step_s(std::size_t step) const;
  bool event_is_due(double now_s) const;
  bool step_is_due(double now_s) const;
  void apply_event();
  void apply_step();
  void apply(NetworkChange change, const std::vector<DirectedLink>& targets);
  void note_caps();

  Network& network_;
  const Schedule& schedule_;
  TrainClock train_clock_;
  std::vector<Link> links_;  // in their present state
  double began_s_ = 0;
  bool began_ = false;
  std::size_t event_ = 0;  // the next event
  std::size_t step_ = 0;   // the trace's next step; repetitions of the trace continue the count
  std::vector<NetworkChange> changes_;
  std::vector<std::vector<Cap>> caps_;  // by direction
};

}  // namespace thinpipe::netem

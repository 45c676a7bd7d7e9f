// SPDX-License-Identifier: Apache-2.0
// Groups the steps of a trace into classes of similar steps, so that it is enough to replay some of each
// class. Pure.
#pragma once

#include "common/protocol/trace.hh"

namespace thinpipe {

// One step of all workers, by rank: the index of an exchange in the trace, or nullopt for a local step.
using JointStep = std::vector<std::optional<std::size_t>>;

// Steps with the same layout and operations, whose bytes differ by at most a quarter. A training run's first
// step has its own class, because it computes for longer than similar steps.
//
// If an exchange overlaps with later steps (Exchange::overlap_steps), its sample stands for these, and the step at
// whose end it begins counts as a local step: the sample begins the exchange and ends when its last step has waited
// for it.
struct StepClass {
  std::int64_t steps = 0;
  std::int64_t steps_per_sample = 1;  // more than 1 only for exchanges that overlap with later steps
  // Represent the class: their mean time is that of its steps. Each occurs among them as often as among the class's
  // steps, as far as their number permits. The first few are already spread over the run.
  std::vector<JointStep> samples = {};
};

struct Schedule {
  struct Run {
    std::size_t step_class = 0;  // index
    std::int64_t steps = 0;      // in a row
  };

  std::vector<StepClass> classes;  // classes[0] has the first step
  std::vector<Run> runs;           // in the order of training

  // Returns the train time of the first `steps` steps if a step of class c takes class_times_s[c].
  double train_time_s(std::int64_t steps, const std::vector<double>& class_times_s) const;
};

// Throws Error if exchanges overlap with each other, or not with the same steps on every worker.
Schedule schedule_of(const CommunicationTrace& trace);

}  // namespace thinpipe

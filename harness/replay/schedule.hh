// Which steps of a trace are alike, so that it is enough to replay some of each kind. Pure.
#pragma once

#include "harness/replay/trace.hh"

namespace thinpipe {

// What each worker does in one step, by rank: an exchange of the trace, or nothing in a local step.
using JointStep = std::vector<std::optional<std::size_t>>;

// Steps with the same layout and operations, whose bytes differ by a quarter at most; or a training's first
// step, which computes longer than what is otherwise like it.
struct StepClass {
  std::int64_t steps = 0;
  std::vector<JointStep> samples = {};  // that stand for them: different ones, spread over the training
};

struct Schedule {
  struct Run {
    std::size_t step_class = 0;  // index
    std::int64_t steps = 0;      // in a row
  };

  std::vector<StepClass> classes;  // the first is the first step's
  std::vector<Run> runs;           // in the order of training

  // Train time after so many steps, when a step of each class takes so long.
  double train_time_s(std::int64_t steps, const std::vector<double>& class_times_s) const;
};

Schedule schedule_of(const CommunicationTrace& trace);

}  // namespace thinpipe

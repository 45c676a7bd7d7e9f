// What a configuration says about pruning, made.
#pragma once

#include "trainer/pruning/criterion.hh"
#include "trainer/pruning/schedule.hh"

namespace thinpipe::trainer {

struct Pruning {
  PruningSchedule schedule;
  std::unique_ptr<PruningCriterion> criterion;
};

// Makes what {"criterion": "grasp", "ratio": 0.5, "at_iteration": 100, …} asks for: the schedule's options
// and the criterion's own. The criterion defaults to magnitude. Throws InputError.
Pruning make_pruning(const Json& value, const Place& place);

}  // namespace thinpipe::trainer

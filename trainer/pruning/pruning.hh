// SPDX-License-Identifier: Apache-2.0
// Pruning as configured: schedule and criterion.
#pragma once

#include "trainer/pruning/criterion.hh"
#include "trainer/pruning/schedule.hh"

namespace thinpipe::trainer {

struct Pruning {
  PruningSchedule schedule;
  std::unique_ptr<PruningCriterion> criterion;
};

// Creates schedule and criterion from {"criterion": "grasp", "ratio": 0.5, "at_iteration": 100, …}, the
// options of both in one object. The criterion defaults to magnitude. Throws InputError.
Pruning make_pruning(const Json& value, const Place& place);

}  // namespace thinpipe::trainer

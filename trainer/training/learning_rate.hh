// SPDX-License-Identifier: Apache-2.0
// The schedule of the learning rate: by iteration, the same on every worker.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/support/options.hh"

namespace thinpipe::trainer {

struct ScheduleOptions {
  std::string shape = "constant";
  std::int64_t warmup_iterations = 0;
  std::vector<double> step_epochs = {};
  double step_factor = 0.1;
  double final_share = 0;

  void visit(auto& field) {
    field("shape", shape,
          Rule{.effect =
                   "constant; step: multiplied by step_factor at each of step_epochs; cosine: half a "
                   "cosine wave from the end of the warm-up down towards final_share, which it would reach "
                   "one iteration after the last",
               .one_of = {"constant", "step", "cosine"}});
    field("warmup_iterations", warmup_iterations,
          Rule{.effect = "iterations over which the rate first rises in equal steps to its full value",
               .at_least = 0});
    field("step_epochs", step_epochs,
          Rule{.effect = "for step: epochs at which the rate falls, ascending", .above = 0});
    field("step_factor", step_factor, Rule{.effect = "for step: factor at each of step_epochs", .above = 0});
    field("final_share", final_share,
          Rule{.effect = "for cosine: share of the full rate at the end", .at_least = 0, .at_most = 1});
  }
};

// Throws InputError below `place` if options contradict each other.
void check_schedule(const ScheduleOptions& options, const Place& place);

// Returns the share of the optimiser's learning rate in an iteration, counted from 0. Warm-up over W
// iterations: (i + 1) / W. Cosine over the other I - W iterations: f + (1 - f)(1 + cos(pi (i - W) / (I - W)))
// / 2; Loshchilov, Hutter: SGDR (2017), equation 5, without restarts.
double learning_rate_share(const ScheduleOptions& options, std::int64_t iteration, std::int64_t iterations,
                           std::int64_t iterations_per_epoch);

}  // namespace thinpipe::trainer

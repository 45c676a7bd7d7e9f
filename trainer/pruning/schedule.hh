// SPDX-License-Identifier: Apache-2.0
// When a model is pruned and to what ratio: once, gradually, or repeatedly.
#pragma once

#include <cstdint>
#include <optional>

#include "common/support/options.hh"

namespace thinpipe::trainer {

// The options that all criteria share.
struct PruningScheduleOptions {
  double ratio = 0;
  std::int64_t at_iteration = 0;
  std::int64_t ramp_iterations = 0;
  std::int64_t ramp_steps = 10;
  std::int64_t update_mask_every_iterations = 0;

  void visit(auto& field) {
    field(
        "ratio", ratio,
        Rule{
            .effect = "fraction of the prunable weights to remove; 0: none", .at_least = 0, .at_most = 0.99});
    field("at_iteration", at_iteration,
          Rule{.effect = "steps before pruning begins; 0: the mask applies from the first step",
               .at_least = 0});
    field("ramp_iterations", ramp_iterations,
          Rule{.effect = "steps over which the ratio grows to its final value; 0: at once", .at_least = 0});
    field("ramp_steps", ramp_steps,
          Rule{.effect = "number of prunings during the ramp; no effect unless ramp_iterations is above 0",
               .at_least = 1});
    field("update_mask_every_iterations", update_mask_every_iterations,
          Rule{.effect = "at the final ratio, choose the mask again after every n steps; 0: the mask stays",
               .at_least = 0});
  }
};

// With t0 = at_iteration, r = ramp_iterations and n = ramp_steps, pruning k = 1..n happens after
// t0 + floor(k·r/n) steps and prunes to ratio·(1 - (1 - k/n)³): fast while many weights are left, slowly at
// the end. Zhu, Gupta: To prune, or not to prune (2017). With r = 0 there is one pruning, to the final
// ratio, after t0 steps.
class PruningSchedule {
 public:
  // Throws InputError, below `place`, if the ramp has more prunings than steps.
  PruningSchedule(const PruningScheduleOptions& options, const Place& place);

  // Returns the ratio to prune to now, after `iteration` finished steps; nullopt if the mask stays.
  std::optional<double> due(std::int64_t iteration) const;

  // Returns the ratio in force during the step after `iteration` finished steps.
  double ratio_at(std::int64_t iteration) const;

  // Returns the mean of ratio_at over the first `iterations` steps, as a share of the final ratio.
  double mean_share(std::int64_t iterations) const;

  double final_ratio() const { return options_.ratio; }

  // Returns the number of finished steps at which the ratio reaches its final value.
  std::int64_t end() const { return options_.at_iteration + options_.ramp_iterations; }

 private:
  double share_at(std::int64_t iteration) const;
  std::int64_t prunings_by(std::int64_t iteration) const;
  std::int64_t prunings() const { return options_.ramp_iterations > 0 ? options_.ramp_steps : 1; }

  PruningScheduleOptions options_;
};

}  // namespace thinpipe::trainer

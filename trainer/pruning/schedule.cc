// SPDX-License-Identifier: Apache-2.0
#include "trainer/pruning/schedule.hh"

#include <algorithm>

#include <fmt/format.h>

namespace thinpipe::trainer {

PruningSchedule::PruningSchedule(const PruningScheduleOptions& options, const Place& place)
    : options_(options) {
  if (options.ramp_iterations > 0 && options.ramp_steps > options.ramp_iterations) {
    throw InputError(
        place / "ramp_steps",
        fmt::format("must be at most ramp_iterations, which is {}, but is {}: at most one pruning per step",
                    options.ramp_iterations, options.ramp_steps));
  }
}

std::optional<double> PruningSchedule::due(std::int64_t iteration) const {
  if (options_.ratio == 0) return std::nullopt;
  if (prunings_by(iteration) > prunings_by(iteration - 1)) return ratio_at(iteration);
  const std::int64_t since = iteration - end();
  const std::int64_t every = options_.update_mask_every_iterations;
  if (every > 0 && since > 0 && since % every == 0) return options_.ratio;
  return std::nullopt;
}

double PruningSchedule::ratio_at(std::int64_t iteration) const {
  return options_.ratio * share_at(iteration);
}

double PruningSchedule::share_at(std::int64_t iteration) const {
  const double left = 1 - static_cast<double>(prunings_by(iteration)) / static_cast<double>(prunings());
  return 1 - left * left * left;
}

double PruningSchedule::mean_share(std::int64_t iterations) const {
  if (iterations <= 0) return share_at(0);
  const std::int64_t ramp_end = std::min(iterations, end());
  auto sum = static_cast<double>(iterations - ramp_end);
  for (std::int64_t i = 0; i < ramp_end; ++i) sum += share_at(i);
  return sum / static_cast<double>(iterations);
}

// floor(k·r/n) <= elapsed is equivalent to k·r < (elapsed + 1)·n.
std::int64_t PruningSchedule::prunings_by(std::int64_t iteration) const {
  const std::int64_t elapsed = iteration - options_.at_iteration;
  if (elapsed < 0) return 0;
  if (elapsed >= options_.ramp_iterations) return prunings();
  return ((elapsed + 1) * options_.ramp_steps - 1) / options_.ramp_iterations;
}

}  // namespace thinpipe::trainer

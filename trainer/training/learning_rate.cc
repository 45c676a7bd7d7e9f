// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/learning_rate.hh"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

namespace thinpipe::trainer {

void check_schedule(const ScheduleOptions& options, const Place& place) {
  if (options.shape == "step" && options.step_epochs.empty()) {
    throw InputError(place / "step_epochs",
                     "is required for shape step: the epochs at which the rate falls, such as [30, 60]");
  }
  if (options.shape != "step" && !options.step_epochs.empty()) {
    throw InputError(place / "step_epochs",
                     fmt::format("is only for shape step, but shape is {}; remove it", options.shape));
  }
  if (!std::ranges::is_sorted(options.step_epochs)) {
    throw InputError(place / "step_epochs", "must be in ascending order");
  }
}

double learning_rate_share(const ScheduleOptions& options, std::int64_t iteration, std::int64_t iterations,
                           std::int64_t iterations_per_epoch) {
  if (iteration < options.warmup_iterations) {
    return static_cast<double>(iteration + 1) / static_cast<double>(options.warmup_iterations);
  }
  if (options.shape == "step") {
    const double epoch = static_cast<double>(iteration) / static_cast<double>(iterations_per_epoch);
    const auto steps = std::ranges::count_if(options.step_epochs, [epoch](double at) { return epoch >= at; });
    return std::pow(options.step_factor, static_cast<double>(steps));
  }
  if (options.shape == "cosine") {
    const auto done = static_cast<double>(iteration - options.warmup_iterations);
    const auto all = static_cast<double>(iterations - options.warmup_iterations);
    const double wave = (1 + std::cos(std::numbers::pi * done / all)) / 2;
    return options.final_share + (1 - options.final_share) * wave;
  }
  return 1;
}

}  // namespace thinpipe::trainer

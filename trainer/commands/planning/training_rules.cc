// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/planning/training_rules.hh"

#include <numbers>
#include <string>

#include <fmt/format.h>

#include "trainer/training/training_setup.hh"

namespace thinpipe::trainer {
namespace {

// The loss is per token, and the target per byte.
void check_bits_per_byte(const Target& target, const DataShape& shape, const Place& place) {
  if (!shape.bytes_per_token) {
    throw InputError(place,
                     "needs the number of bytes per token, which is unknown: add \"bytes_per_token\" to the "
                     "data's meta.json, or use the target test_loss, in nats per token");
  }
  if (*shape.bytes_per_token == 1) return;
  throw InputError(
      place, fmt::format("is for tokens of one byte, but these have {:.4g} on average: use the target "
                         "{{\"test_loss\": {:.6g}}}, in nats per token, which is the same",
                         *shape.bytes_per_token, target.value * std::numbers::ln2 * *shape.bytes_per_token));
}

// If a method accumulates gradients over steps, the optimiser must not apply momentum a second time.
void check_momentum(const TrainingConfig& config, const Synchroniser& synchroniser) {
  if (!synchroniser.properties().applies_momentum) return;
  const std::string remedy = fmt::format("because the synchroniser {} applies momentum itself",
                                         config.synchroniser.at("name").get<std::string>());
  const Place place = kConfigurationPlace / "optimiser";
  if (config.optimiser.at("name") != "sgd") throw InputError(place / "name", "must be sgd, " + remedy);
  if (config.optimiser.at("momentum") != 0) throw InputError(place / "momentum", "must be 0, " + remedy);
}

void check_clipping(const TrainingConfig& config, const Synchroniser& synchroniser) {
  if (!config.training.clip_norm || synchroniser.clipping() != Clipping::none) return;
  throw InputError(kConfigurationPlace / "training" / "clip_norm",
                   fmt::format("must be null, because the synchroniser {} uses signs, which do not depend on "
                               "the gradient's length",
                               config.synchroniser.at("name").get<std::string>()));
}

// Between two exchanges the workers' weights differ, so that no common model can be evaluated or compared.
void check_rounds(const TrainingConfig& config, std::int64_t local_steps) {
  const auto check = [&](const char* key, std::int64_t interval) {
    if (interval % local_steps == 0) return;
    throw InputError(
        kConfigurationPlace / "training" / key,
        fmt::format("must be a multiple of {}, the local steps of the synchroniser {}, because the workers' "
                    "weights differ in between, but is {}",
                    local_steps, config.synchroniser.at("name").get<std::string>(), interval));
  };
  check("evaluate_every_iterations", config.training.evaluate_every_iterations);
  check("check_replicas_every_iterations", config.training.check_replicas_every_iterations);
}

}  // namespace

void check_targets(const TrainingConfig& config, const Dataset& dataset) {
  for (std::size_t i = 0; i < config.targets.size(); ++i) {
    const Target& target = config.targets[i];
    const bool is_per_byte = target.metric == Target::Metric::bits_per_byte;
    if (!is_per_byte && target.metric != Target::Metric::perplexity) continue;
    const Place place = Place{} / "targets" / i / name_of(target.metric);
    const DataShape shape = dataset.shape();
    if (!shape.is_text())
      throw InputError(place,
                       "is for text, but the data set has images: use the target accuracy or test_loss");
    if (is_per_byte) check_bits_per_byte(target, shape, place);
  }
}

void check_method(const TrainingConfig& config, const Synchroniser& synchroniser) {
  check_momentum(config, synchroniser);
  check_clipping(config, synchroniser);
  check_workers(config, synchroniser);
  if (const auto local_steps = synchroniser.local_steps()) check_rounds(config, *local_steps);
}

void check_schedule_acts(const TrainingConfig& config, std::int64_t iterations) {
  const Place place = kConfigurationPlace / "schedule";
  const ScheduleOptions& schedule = config.schedule;
  if (schedule.warmup_iterations >= iterations) {
    throw InputError(place / "warmup_iterations",
                     fmt::format("must be less than {}, the iterations of the run, but is {}; set a smaller "
                                 "one, or train for more epochs",
                                 iterations, schedule.warmup_iterations));
  }
  if (!schedule.step_epochs.empty() &&
      schedule.step_epochs.back() >= static_cast<double>(config.training.epochs)) {
    throw InputError(
        place / "step_epochs",
        fmt::format("must be less than {}, the epochs of the run, but the last is {}; remove it, "
                    "or train for more epochs",
                    config.training.epochs, schedule.step_epochs.back()));
  }
}

}  // namespace thinpipe::trainer

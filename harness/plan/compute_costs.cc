// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/compute_costs.hh"

#include <fmt/format.h>

#include "common/protocol/compute_profile.hh"
#include "common/protocol/device.hh"

namespace thinpipe {
namespace {

std::optional<ComputeCost> cost_in(const std::string& profile) {
  if (is_device(parse_json_file(profile))) return std::nullopt;
  const ComputeTimes times = load_profile(profile).elapsed;
  return ComputeCost{.compute_s = times.load_s + times.compute_s + times.finish_s, .sleeps = true};
}

}  // namespace

std::optional<ComputeCost> MeasuredCosts::of(const Run& run) {
  if (run.profile) return cost_in(run.profile->string());
  const Json& config = run.training->config;
  Json decisive = Json::object();
  for (const char* key : {"model", "dataset", "optimiser", "compute"}) {
    decisive[key] = config.value(key, Json(nullptr));
  }
  if (Json& optimiser = decisive["optimiser"]; optimiser.is_object())
    optimiser.erase("learning_rate");  // a step takes the same time whatever it is
  decisive["batch"] = config.value(Json::json_pointer("/training/batch_size_per_worker"), Json(nullptr));
  const auto [entry, is_new] = measured_.try_emplace(decisive.dump());
  if (is_new) {
    before_measuring_(fmt::format("measuring the compute time of {}", decisive["model"].dump()));
    const Json cost = trainer_.cost(config);
    entry->second = {.compute_s = cost.at("compute_s").get<double>(),
                     .memory_bytes = cost.at("memory_bytes").get<double>()};
  }
  return entry->second;
}

}  // namespace thinpipe

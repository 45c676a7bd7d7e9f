// SPDX-License-Identifier: Apache-2.0
#include "harness/run/set_up_cost.hh"

namespace thinpipe {
namespace {

// Returns null if there is none, as in the configuration of a trainer that knows no pruning.
Json member(const Json& config, const char* pointer) {
  return config.value(Json::json_pointer(pointer), Json(nullptr));
}

// Returns the batch size per worker of a profile's times. An estimate's device names it if it differs from the
// configuration's.
double batch_size_of(const ComputeProfile& profile) {
  const auto own = member(profile.configuration, "/training/batch_size_per_worker").get<double>();
  return profile.device.is_object() ? profile.device.value("batch_size_per_worker", own) : own;
}

}  // namespace

double pretraining_s_on(const ComputeProfile& profile, const Json& config) {
  // Of workers that share cores, the CPU time is that of a worker with a core of its own.
  const ComputeTimes& times = profile.cpu ? *profile.cpu : profile.elapsed;
  const Json& pretraining = config.at("pretraining");
  const double scale = pretraining.at("batch_size").get<double>() / batch_size_of(profile);
  const double iteration_s = scale * (times.load_s + times.compute_s) + times.finish_s;
  return pretraining.at("iterations").get<double>() * iteration_s;
}

record::SetUp set_up_cost(const Json& config, std::optional<double> measured_s,
                          const std::optional<ComputeProfile>& profile, std::optional<double> pruning_s) {
  record::SetUp out;
  const bool starts_from_file = !member(config, "/weights/file").is_null();
  if (starts_from_file) {
    out.pretraining_s = std::nullopt;  // nobody knows what these weights cost
  } else if (member(config, "/pretraining/iterations") == 0) {
    out.pretraining_s = 0;
  } else if (profile) {
    out.pretraining_s = pretraining_s_on(*profile, config);
    out.pretraining_from = "profile";
  } else if (measured_s) {
    out.pretraining_s = measured_s;
    out.pretraining_from = "measured";
  }
  out.pruning_s = member(config, "/pruning/ratio") == 0 ? 0 : pruning_s;
  return out;
}

}  // namespace thinpipe

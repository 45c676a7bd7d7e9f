// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/set_up.hh"

namespace thinpipe {
namespace {

// Returns null if `value` has no such member, as in records with other parts.
Json member(const Json& value, const char* pointer) {
  return value.is_object() ? value.value(Json::json_pointer(pointer), Json(nullptr)) : Json(nullptr);
}

// Returns the time of the pre-training on one worker of the device whose compute times a replay or simulation has:
// those of its iterations, scaled by the batch size. Returns nullopt if they are times of this machine, on which
// pre-training and training share the cores in different ways.
std::optional<double> derived_pretraining_s(const Record& record) {
  if (!record.replay.value_or(std::nullopt) || !record.iteration_time_s) return std::nullopt;
  const Json profile = member(record.config, "/compute_profile");
  if (profile.is_null() || profile == "measured" || member(profile, "/device") == "measured")
    return std::nullopt;
  const record::IterationTime& time = *record.iteration_time_s;
  const Json iterations = member(record.config, "/pretraining/iterations");
  const Json batch_size = member(record.config, "/pretraining/batch_size");
  Json profiled = member(profile, "/batch_size_per_worker");
  if (profiled.is_null()) profiled = member(record.config, "/training/batch_size_per_worker");
  if (!time.load || !time.compute || !iterations.is_number() || !batch_size.is_number() ||
      !profiled.is_number() || profiled == 0)
    return std::nullopt;
  return iterations.get<double>() * (*time.load + *time.compute) * batch_size.get<double>() /
         profiled.get<double>();
}

}  // namespace

record::SetUp set_up_of(const Record& record) {
  if (record.set_up) return record.set_up->value_or(record::SetUp());
  record::SetUp out;
  if (member(record.config, "/trainer/command").is_array()) return out;
  if (member(record.config, "/weights/file").is_null()) {
    if (member(record.config, "/pretraining/iterations") == 0) {
      out.pretraining_s = 0;
    } else if ((out.pretraining_s = derived_pretraining_s(record))) {
      out.pretraining_from = "profile";
    }
  }
  if (member(record.config, "/pruning/ratio") == 0) out.pruning_s = 0;
  return out;
}

std::optional<double> total_s(const record::SetUp& set_up) {
  if (!set_up.pretraining_s || !set_up.pruning_s) return std::nullopt;
  return *set_up.pretraining_s + *set_up.pruning_s;
}

}  // namespace thinpipe

// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/compute_profile.hh"

#include <array>

#include <fmt/format.h>

#include "common/support/renamed_names.hh"

namespace thinpipe {
namespace {

struct Time {
  const char* name;
  double ComputeTimes::*member;
};

constexpr std::array<Time, 5> times = {{{"load_s", &ComputeTimes::load_s},
                                        {"compute_s", &ComputeTimes::compute_s},
                                        {"finish_s", &ComputeTimes::finish_s},
                                        {"encode_s", &ComputeTimes::encode_s},
                                        {"decode_s", &ComputeTimes::decode_s}}};

// The settings that affect the compute time.
constexpr std::array<const char*, 3> decisive = {"/model", "/training/batch_size_per_worker",
                                                 "/dataset/name"};

void write_times(const ComputeTimes& all, Json& out) {
  out["ready_s"] = all.ready_s;
  for (const Time& time : times) out[time.name] = all.*time.member;
  out["between_collectives_s"] = all.between_collectives_s;
  out["overlapped_decode_s"] = all.overlapped_decode_s;
  out["prepare_s"] = all.prepare_s;
  out["warm_up_s"] = all.start_s;
}

void read_times(JsonObject& object, std::int64_t schema_version, ComputeTimes& all) {
  object.read("ready_s", all.ready_s, {.at_least = 0, .required = true});
  for (const Time& time : times) object.read(time.name, all.*time.member, {.at_least = 0, .required = true});
  if (schema_version >= 2)
    object.read("between_collectives_s", all.between_collectives_s,
                {.at_least = 0, .at_most = all.encode_s, .required = true});
  if (schema_version >= 3) object.read("prepare_s", all.prepare_s, {.at_least = 0, .required = true});
  if (schema_version >= 4) {
    object.read("overlapped_decode_s", all.overlapped_decode_s,
                {.at_least = 0, .at_most = all.decode_s, .required = true});
    object.read("warm_up_s", all.start_s, {.at_least = 0, .required = true});
  }
}

std::int64_t profile_version(const Json& value, const std::string& file) {
  JsonObject object(value, {file, ""});
  std::int64_t schema_version = 0;
  object.read("schema_version", schema_version, {.at_least = 1, .required = true});
  if (schema_version > profile_schema_version) {
    throw InputError(object.place_of("schema_version"),
                     fmt::format("is {}: the profile was made by a newer thinpipe; this one reads up to {}",
                                 schema_version, profile_schema_version));
  }
  return schema_version;
}

}  // namespace

Json to_json(const ComputeProfile& profile) {
  Json out = {{"schema_version", profile_schema_version},
              {"origin", profile.origin},
              {"device", profile.device},
              {"configuration", profile.configuration},
              {"concurrent_workers", profile.concurrent_workers},
              {"iterations", profile.iterations},
              {"cpu", nullptr}};
  write_times(profile.elapsed, out);
  if (profile.cpu) write_times(*profile.cpu, out["cpu"]);
  out["variation"] = profile.variation;
  return out;
}

ComputeProfile parse_profile(const Json& value, const std::string& file) {
  const std::int64_t schema_version = profile_version(value, file);
  Json upgraded;
  if (schema_version < profile_schema_version) {
    upgraded = value;
    renamed_names().upgrade(upgraded, "compute_profile");
  }
  JsonObject object(upgraded.is_null() ? value : upgraded, {file, ""});
  object.find("schema_version");
  ComputeProfile profile;
  object.read("origin", profile.origin, {.one_of = {"measured", "estimated"}, .required = true});
  object.read("device", profile.device, {.required = true});
  object.read("configuration", profile.configuration, {.required = true});
  object.read("concurrent_workers", profile.concurrent_workers, {.at_least = 1, .required = true});
  object.read("iterations", profile.iterations, {.at_least = 1, .required = true});
  read_times(object, schema_version, profile.elapsed);
  if (const Json* cpu = object.find("cpu"); cpu != nullptr && !cpu->is_null()) {
    JsonObject of_cpu(*cpu, object.place_of("cpu"));
    read_times(of_cpu, schema_version, profile.cpu.emplace());
    of_cpu.finish();
  }
  if (schema_version >= 3) object.read("variation", profile.variation, {.at_least = 0, .required = true});
  object.finish();
  return profile;
}

ComputeProfile load_profile(const std::string& path) {
  return parse_profile(parse_json_file(path), path);
}

void check_profile_fits(const ComputeProfile& profile, const std::string& file,
                        const CommunicationTrace& trace) {
  for (const char* name : decisive) {
    const Json::json_pointer pointer(name);
    const Json ours = profile.configuration.value(pointer, Json(nullptr));
    const Json theirs = trace.configuration.value(pointer, Json(nullptr));
    if (ours != theirs) {
      throw InputError(
          {file, "/configuration" + std::string(name)},
          fmt::format("the profile was made for {}, the trace for {}", ours.dump(), theirs.dump()));
    }
  }
  const auto check_parameters = [&](const ComputeTimes& times_of, const char* name) {
    if (times_of.ready_s.size() == trace.parameters.size()) return;
    throw InputError({file, name}, fmt::format("has {} parameters, but the trace has {}",
                                               times_of.ready_s.size(), trace.parameters.size()));
  };
  check_parameters(profile.elapsed, "/ready_s");
  if (profile.cpu) check_parameters(*profile.cpu, "/cpu/ready_s");
}

}  // namespace thinpipe

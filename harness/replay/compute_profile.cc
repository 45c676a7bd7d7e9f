#include "harness/replay/compute_profile.hh"

#include <array>

#include <fmt/format.h>

namespace thinpipe {
namespace {

struct Time {
  const char* name;
  double ComputeProfile::*member;
};

constexpr std::array<Time, 5> times = {{{"load_s", &ComputeProfile::load_s},
                                        {"compute_s", &ComputeProfile::compute_s},
                                        {"finish_s", &ComputeProfile::finish_s},
                                        {"encode_s", &ComputeProfile::encode_s},
                                        {"decode_s", &ComputeProfile::decode_s}}};

// What decides how long computing takes; the exchange's own parts do not.
constexpr std::array<const char*, 3> decisive = {"/model", "/training/batch_size_per_worker",
                                                 "/dataset/name"};

}  // namespace

Json to_json(const ComputeProfile& profile) {
  Json out = {{"schema_version", profile_schema_version},
              {"origin", profile.origin},
              {"device", profile.device},
              {"configuration", profile.configuration},
              {"concurrent_workers", profile.concurrent_workers},
              {"iterations", profile.iterations},
              {"ready_s", profile.ready_s}};
  for (const Time& time : times) out[time.name] = profile.*time.member;
  return out;
}

ComputeProfile parse_profile(const Json& value, const std::string& file) {
  JsonObject object(value, {file, ""});
  std::int64_t schema_version = 0;
  object.read("schema_version", schema_version, {.at_least = 1, .required = true});
  if (schema_version > profile_schema_version) {
    throw InputError(object.place_of("schema_version"),
                     fmt::format("is {}: the profile was made by a newer thinpipe; this one reads up to {}",
                                 schema_version, profile_schema_version));
  }
  ComputeProfile profile;
  object.read("origin", profile.origin, {.one_of = {"measured", "estimated"}, .required = true});
  object.read("device", profile.device, {.required = true});
  object.read("configuration", profile.configuration, {.required = true});
  object.read("concurrent_workers", profile.concurrent_workers, {.at_least = 1, .required = true});
  object.read("iterations", profile.iterations, {.at_least = 1, .required = true});
  object.read("ready_s", profile.ready_s, {.at_least = 0, .required = true});
  for (const Time& time : times)
    object.read(time.name, profile.*time.member, {.at_least = 0, .required = true});
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
  if (profile.ready_s.size() != trace.parameters.size()) {
    throw InputError({file, "/ready_s"}, fmt::format("has {} parameters where the trace has {}",
                                                     profile.ready_s.size(), trace.parameters.size()));
  }
}

}  // namespace thinpipe

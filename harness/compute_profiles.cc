#include "harness/compute_profiles.hh"

#include <fmt/format.h>

#include "harness/record.hh"
#include "harness/replay/compute_profile.hh"
#include "harness/replay/device.hh"
#include "harness/run_id.hh"

namespace thinpipe {

namespace fs = std::filesystem;

namespace {

Json about(const fs::path& path) {
  const ComputeProfile profile = load_profile(path.string());
  return {{"path", fs::absolute(path).string()},
          {"hash", content_hash_of_file(path)},
          {"origin", profile.origin},
          {"device", profile.device},
          {"concurrent_workers", profile.concurrent_workers}};
}

// That the run's profile is to be estimated for; null where it is given or measured.
Json device_of(const Run& run) {
  if (!run.profile) return nullptr;
  Json file = parse_json_file(run.profile->string());
  return is_device(file) ? to_json(parse_device(file, {run.profile->string(), ""})) : Json(nullptr);
}

// An estimate is one worker's, whatever is exchanged.
Json decisive_for(const Run& run, const Json& device) {
  Json out = {{"device", device}};
  std::vector<const char*> keys = {"model", "dataset", "optimiser", "compute"};
  if (device.is_null()) {
    out["workers"] = run.workers;
    keys.insert(keys.end(), {"pruning", "synchroniser", "buckets"});
  }
  for (const char* key : keys) out[key] = run.decisive.at(key);
  for (const char* key : {"batch_size_per_worker", "clip_norm", "label_smoothing"}) {
    out["training"][key] = run.decisive.at("training").at(key);
  }
  if (run.estimated_batch_size) out["estimated_batch_size"] = *run.estimated_batch_size;
  return out;
}

}  // namespace

std::variant<Json, Outcome> ComputeProfiles::obtain(const Run& run, const Json& starting_weights,
                                                    Executor& executor, Progress& progress,
                                                    std::chrono::duration<double> stall_timeout) {
  const Json device = device_of(run);
  if (run.profile && device.is_null()) return about(*run.profile);
  const Json decisive = decisive_for(run, device);
  const std::string name = content_hash(decisive.dump());
  const fs::path& folder = profiles_.folder();
  const fs::path output = fs::absolute(folder / (name + ".json"));
  const auto kept = [&]() -> std::optional<Json> {
    return fs::exists(output) ? std::optional(about(output)) : std::nullopt;
  };
  const auto make = [&]() -> std::variant<Json, Outcome> {
    const fs::path input = fs::absolute(folder / (name + ".input.json"));
    const bool estimates = !device.is_null();
    const std::string what = fmt::format("{} what computing takes", estimates ? "estimating" : "measuring");
    Json order = {{"schema_version", record_schema_version},
                  {"config", run.training_config},
                  {"output", output.string()}};
    if (estimates) {
      order["device"] = device;
      if (run.estimated_batch_size) order["batch_size_per_worker"] = *run.estimated_batch_size;
    } else {
      order["starting_weights"] = starting_weights;
    }
    write_atomically(input, record_text(order));
    progress.wait(what);
    const JobObserver observer{.event = [](std::int64_t /*rank*/, const Json& /*event*/) {},
                               .tick = [&](WorkerControl&) { progress.tick(); }};
    const fs::path log = folder / (name + ".log");
    Outcome outcome = executor.execute(
        {.workers = {{.command = estimates ? "estimate" : "profile", .input = input, .log = log}},
         .stall_timeout = stall_timeout},
        observer);
    if (outcome.status == Outcome::Status::failed) {
      outcome.failure->message = what + ": " + outcome.failure->message;
    }
    if (outcome.status != Outcome::Status::completed) return outcome;
    return about(output);
  };
  return profiles_.obtain(name, progress, kept, make);
}

}  // namespace thinpipe

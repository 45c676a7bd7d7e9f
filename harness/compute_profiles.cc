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
    out["processes"] = run.workers;
    keys.insert(keys.end(), {"pruning", "synchroniser", "buckets"});
  }
  for (const char* key : keys) out[key] = run.decisive.at(key);
  for (const char* key : {"batch_size_per_worker", "clip_norm", "label_smoothing"}) {
    out["training"][key] = run.decisive.at("training").at(key);
  }
  if (run.estimated_batch_size) out["estimated_batch_size"] = *run.estimated_batch_size;
  return out;
}

fs::path with_suffix(fs::path beside, const std::string& suffix) {
  return beside += suffix;
}

fs::path rendezvous_of(const fs::path& beside) {
  return with_suffix(beside, ".rendezvous");
}

// Files whose names begin with `beside` are the job's.
std::vector<WorkerCommand> estimating(const Run& run, const Json& device, const fs::path& output,
                                      const fs::path& beside) {
  Json order = {{"schema_version", record_schema_version},
                {"config", run.training_config},
                {"device", device},
                {"output", output.string()}};
  if (run.estimated_batch_size) order["batch_size_per_worker"] = *run.estimated_batch_size;
  const fs::path input = with_suffix(beside, ".input.json");
  write_atomically(input, record_text(order));
  return {{.command = "estimate", .input = input, .log = with_suffix(beside, ".log")}};
}

// As many processes as in the run, on the loopback device: what they compute takes as long as over a network.
std::vector<WorkerCommand> measuring(const Run& run, const Json& starting_weights, const fs::path& output,
                                     const fs::path& beside) {
  const fs::path rendezvous = rendezvous_of(beside);
  fs::remove_all(rendezvous);
  fs::create_directory(rendezvous);
  std::vector<WorkerCommand> workers;
  for (std::int64_t rank = 0; rank < run.workers; ++rank) {
    const fs::path input = with_suffix(beside, fmt::format(".worker-{}.json", rank));
    write_atomically(input, record_text({{"schema_version", record_schema_version},
                                         {"rank", rank},
                                         {"world_size", run.workers},
                                         {"address", "127.0.0.1"},
                                         {"rendezvous_directory", rendezvous.string()},
                                         {"starting_weights", starting_weights},
                                         {"config", without_network(run.training_config)},
                                         {"output", output.string()}}));
    workers.push_back({.rank = rank,
                       .command = "profile",
                       .input = input,
                       .log = with_suffix(beside, fmt::format(".worker-{}.log", rank))});
  }
  return workers;
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
    const bool estimates = !device.is_null();
    const std::string what = fmt::format("{} what computing takes", estimates ? "estimating" : "measuring");
    const fs::path beside = fs::absolute(folder / name);
    progress.wait(what);
    const JobObserver observer{.event = [](std::int64_t /*rank*/, const Json& /*event*/) {},
                               .tick = [&](WorkerControl&) { progress.tick(); }};
    Outcome outcome =
        executor.execute({.workers = estimates ? estimating(run, device, output, beside)
                                               : measuring(run, starting_weights, output, beside),
                          .stall_timeout = stall_timeout},
                         observer);
    fs::remove_all(rendezvous_of(beside));
    if (outcome.status == Outcome::Status::failed) {
      outcome.failure->message = what + ": " + outcome.failure->message;
    }
    if (outcome.status != Outcome::Status::completed) return outcome;
    return about(output);
  };
  return profiles_.obtain(name, progress, kept, make);
}

}  // namespace thinpipe

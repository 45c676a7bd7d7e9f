#include "harness/compute_profiles.hh"

#include "harness/record.hh"
#include "harness/replay/compute_profile.hh"
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

}  // namespace

std::variant<Json, Outcome> ComputeProfiles::obtain(const Run& run, const Json& starting_weights,
                                                    Executor& executor, Progress& progress,
                                                    std::chrono::duration<double> stall_timeout) {
  if (run.profile) return about(*run.profile);
  Json decisive = {{"workers", run.workers}};
  for (const char* key :
       {"model", "dataset", "optimiser", "pruning", "synchroniser", "training", "compute", "buckets"}) {
    decisive[key] = run.decisive.at(key);
  }
  const std::string name = content_hash(decisive.dump());
  const fs::path& folder = profiles_.folder();
  const fs::path output = fs::absolute(folder / (name + ".json"));
  const auto kept = [&]() -> std::optional<Json> {
    return fs::exists(output) ? std::optional(about(output)) : std::nullopt;
  };
  const auto make = [&]() -> std::variant<Json, Outcome> {
    const fs::path input = fs::absolute(folder / (name + ".input.json"));
    write_atomically(input, record_text({{"schema_version", record_schema_version},
                                         {"starting_weights", starting_weights},
                                         {"config", run.training_config},
                                         {"output", output.string()}}));
    progress.wait("measuring what computing takes");
    const JobObserver observer{.event = [](std::int64_t /*rank*/, const Json& /*event*/) {},
                               .tick = [&](WorkerControl&) { progress.tick(); }};
    const fs::path log = folder / (name + ".log");
    Outcome outcome = executor.execute(
        {.workers = {{.command = "profile", .input = input, .log = log}}, .stall_timeout = stall_timeout},
        observer);
    if (outcome.status == Outcome::Status::failed) {
      outcome.failure->message = "measuring what computing takes: " + outcome.failure->message;
    }
    if (outcome.status != Outcome::Status::completed) return outcome;
    return about(output);
  };
  return profiles_.obtain(name, progress, kept, make);
}

}  // namespace thinpipe

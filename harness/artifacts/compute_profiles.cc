// SPDX-License-Identifier: Apache-2.0
#include "harness/artifacts/compute_profiles.hh"

#include <fmt/format.h>

#include "common/protocol/compute_profile.hh"
#include "common/protocol/device.hh"
#include "common/protocol/worker_file.hh"
#include "harness/executors/worker_inputs.hh"
#include "harness/machine/cpu_usage.hh"
#include "harness/plan/run_id.hh"
#include "harness/records/provenance.hh"
#include "harness/records/record.hh"
#include "netem/network.hh"

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

// Returns the device for which the run's profile is estimated; nullopt if the profile is given or measured.
std::optional<Device> device_of(const Run& run) {
  if (!run.profile) return std::nullopt;
  const Json file = parse_json_file(run.profile->string());
  if (!is_device(file)) return std::nullopt;
  return parse_device(file, {run.profile->string(), ""});
}

// Stores the finished profile with the share of the machine that other programs used meanwhile.
void store(const fs::path& measured, double share_of_others, const fs::path& output) {
  ComputeProfile profile = load_profile(measured.string());
  if (profile.device.is_object()) profile.device[others_share_key] = share_of_others;
  write_atomically(output, record_text(to_json(profile)));
}

// Returns the settings that determine the profile. An estimate is for one worker and ignores what the exchange takes;
// measured compute shares the machine with the exchange.
Json decisive_for(const Run& run, const std::optional<Device>& device) {
  Json out = {{"device", device ? to_json(*device) : Json(nullptr)}};
  std::vector<const char*> keys = {"model", "dataset", "optimiser", "compute"};
  if (!device) {
    out["processes"] = run.workers;
    out["profile_version"] = profile_content_version;
    out["machine"] = name_of_machine();
    keys.insert(keys.end(), {"pruning", "synchroniser", "buckets", "topology", "collective"});
  }
  const Json of_run = decisive_part(run);
  // Some methods exchange only gradients that have been clipped.
  if (device && !of_run.at("training").at("clip_norm").is_null()) keys.push_back("synchroniser");
  for (const char* key : keys) out[key] = of_run.at(key);
  for (const char* key : {"batch_size_per_worker", "clip_norm", "label_smoothing"}) {
    out["training"][key] = of_run.at("training").at(key);
  }
  if (run.estimated_batch_size) out["estimated_batch_size"] = *run.estimated_batch_size;
  return out;
}

// Returns the worker that estimates a profile. `folder` is the job's.
std::vector<WorkerCommand> estimating(const Run& run, const Device& device, const fs::path& output,
                                      const fs::path& folder) {
  const EstimateFile file{.device = device,
                          .batch_size_per_worker = run.estimated_batch_size,
                          .output = output.string(),
                          .config = run.training->config};
  const fs::path input = folder / "estimate.json";
  write_atomically(input, record_text(to_json(file)));
  return {{.command = "estimate", .input = input, .log = folder / "estimate.log"}};
}

// Returns the workers that measure a profile: as many as in the run, over its network. Another exchange would
// leave them a different share of the CPUs and their caches.
std::vector<WorkerCommand> measuring(const Run& run, const netem::Network& network,
                                     const std::optional<std::string>& initial_weights, Seconds longest,
                                     const fs::path& output, const fs::path& folder) {
  WorkerInputs inputs(run, folder, "info");
  if (initial_weights) inputs.start_from(*initial_weights);
  fs::create_directory(inputs.rendezvous());
  std::vector<WorkerCommand> workers;
  for (std::int64_t rank = 0; rank < run.workers; ++rank) {
    workers.push_back(
        inputs.profiling(rank, network.hosts().at(static_cast<std::size_t>(rank)), longest, output));
  }
  return workers;
}

}  // namespace

std::optional<fs::path> ComputeProfiles::missing(const Run& run) const {
  if (!run.is_replay()) return std::nullopt;
  const std::optional<Device> device = device_of(run);
  if (run.profile && !device) return std::nullopt;
  return profiles_.missing(content_hash(decisive_for(run, device).dump()) + ".json");
}

std::variant<Json, Outcome> ComputeProfiles::get_or_build(const Run& run,
                                                          const std::optional<std::string>& initial_weights,
                                                          Executor& executor, Progress& progress,
                                                          const TimeLimits& limits) {
  const std::optional<Device> device = device_of(run);
  if (run.profile && !device) return about(*run.profile);
  const Json decisive = decisive_for(run, device);
  const std::string name = content_hash(decisive.dump());
  const fs::path& folder = profiles_.folder();
  const fs::path output = fs::absolute(folder / (name + ".json"));
  const auto find = [&]() -> std::optional<Json> {
    return fs::exists(output) ? std::optional(about(output)) : std::nullopt;
  };
  const auto build = [&]() -> std::variant<Json, Outcome> {
    const bool estimates = device.has_value();
    const std::string what = fmt::format("{} the compute time", estimates ? "estimating" : "measuring");
    const fs::path work = fs::absolute(folder / name);
    fs::remove_all(work);
    fs::create_directory(work);
    progress.wait(what);
    const JobObserver observer{.event = [](std::int64_t /*rank*/, const Event& /*event*/) {},
                               .tick = [&](WorkerControl&, Seconds) { progress.tick(); }};
    Outcome outcome;
    if (estimates) {
      outcome =
          executor.execute({.workers = estimating(run, *device, output, work), .limits = limits}, observer);
    } else {
      const fs::path measured = work / "profile.json";
      const auto measure = [&] {
        fs::remove_all(work);
        fs::create_directory(work);
        const netem::Network network(run.setting->topology, netem::Schedule{}, idle_cores_);
        outcome = executor.execute(
            {.workers = measuring(run, network, initial_weights, limits.profiling, measured, work),
             .limits = limits},
            observer);
        return outcome.status == Outcome::Status::completed;
      };
      const double share = measure_undisturbed(measure, [&](double others) {
        progress.wait(
            fmt::format("{} again: other programs used {:.0f} % of the machine", what, 100 * others));
      });
      if (outcome.status == Outcome::Status::completed) store(measured, share, output);
    }
    if (outcome.status == Outcome::Status::failed) {
      outcome.failure->message = fmt::format("{} in {}: {}", what, work.string(), outcome.failure->message);
    }
    if (outcome.status != Outcome::Status::completed) return outcome;
    fs::remove_all(work);
    return about(output);
  };
  return profiles_.get_or_build(name, progress, find, build);
}

}  // namespace thinpipe

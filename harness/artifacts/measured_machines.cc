#include "harness/artifacts/measured_machines.hh"

#include <fmt/format.h>

#include "harness/executors/worker_inputs.hh"
#include "harness/machine/communication_meter.hh"
#include "harness/plan/resource_estimate.hh"
#include "harness/plan/run_id.hh"
#include "harness/records/provenance.hh"
#include "harness/records/record.hh"
#include "harness/simulation/calibration.hh"
#include "harness/simulation/machine_file.hh"
#include "netem/network.hh"

namespace thinpipe {

namespace fs = std::filesystem;

namespace {

constexpr const char* what = "measuring the CPU time of communication";

SharedMachine shared_machine(const MachineOptions& options, const std::optional<fs::path>& file) {
  SharedMachine out;
  if (file) {
    const MachineFile machine = load_machine_file(file->string());
    out = {.model = {.cores = machine.cores, .costs = machine.costs},
           .path = file->string(),
           .hash = content_hash_of_file(*file)};
  } else {
    out.model.cores = this_machine().cores;
  }
  out.model.cores = options.cores.value_or(out.model.cores);
  out.model.workers_per_machine = options.workers_per_machine;
  out.model.communication_first = options.communication_first;
  return out;
}

// Returns the settings that determine the costs.
Json decisive_for(const Run& run) {
  const Json of_run = decisive_part(run);
  return {{"topology", of_run.at("topology")}, {"collective", run.collective}, {"workers", run.workers}};
}

// Runs workers that only communicate, over `topology`. Returns the CPU time that this takes.
std::variant<CalibrationTimes, Outcome> measure(const Run& run, const netem::Topology& topology,
                                                Executor& executor, Progress& progress,
                                                const TimeLimits& limits, const fs::path& folder) {
  fs::create_directories(folder);
  const fs::path trace = folder / "trace.json";
  const fs::path profile = folder / "profile.json";
  write_atomically(trace, record_text(to_json(calibration_trace(static_cast<int>(run.workers)))));
  write_atomically(profile, record_text(to_json(calibration_profile())));
  const netem::Network network(topology, {}, netem::IdleCores::kept_awake);
  CommunicationMeter meter(*network.awake_cores(), this_machine().cores);
  const WorkerInputs inputs(run, folder, "info");
  fs::create_directory(inputs.rendezvous());
  Job job{.workers = {}, .limits = limits};
  for (std::int64_t rank = 0; rank < run.workers; ++rank) {
    job.workers.push_back(
        inputs.replaying(rank, network.hosts().at(static_cast<std::size_t>(rank)), trace, profile));
  }
  Outcome outcome = executor.execute(job, {.event =
                                               [&](std::int64_t rank, const Event& event) {
                                                 if (rank == 0) meter.take(event);
                                               },
                                           .tick = [&](WorkerControl&, Seconds) { progress.tick(); }});
  if (outcome.status != Outcome::Status::completed) return outcome;
  const std::vector<double> class_times_s = meter.class_times_s();
  return CalibrationTimes{.short_s = class_times_s.at(1), .long_s = class_times_s.at(2)};
}

}  // namespace

std::variant<SharedMachine, Outcome> MeasuredMachines::get_or_build(const Run& run, Executor& executor,
                                                                    Progress& progress,
                                                                    const TimeLimits& limits) {
  const MachineOptions& options = *run.machine;
  if (options.costs == free_communication) return shared_machine(options, std::nullopt);
  if (options.reads_file()) return shared_machine(options, options.costs);
  const Json decisive = decisive_for(run);
  const std::string name = content_hash(decisive.dump());
  const fs::path file = fs::absolute(machines_.folder() / (name + ".json"));
  const auto find = [&]() -> std::optional<Json> {
    return fs::exists(file) ? std::optional(Json(file.string())) : std::nullopt;
  };
  const auto build = [&]() -> std::variant<Json, Outcome> {
    progress.wait(what);
    const fs::path work = fs::absolute(machines_.folder() / name);
    fs::remove_all(work);
    const netem::Topology& topology = run.setting->topology;
    std::vector<CalibrationTimes> times;
    for (const auto& [folder, network] :
         {std::pair(work / "capped", topology), std::pair(work / "uncapped", without_caps(topology))}) {
      auto measured = measure(run, network, executor, progress, limits, folder);
      if (auto* const outcome = std::get_if<Outcome>(&measured)) {
        if (outcome->failure) {
          outcome->failure->message =
              fmt::format("{} in {}: {}", what, folder.string(), outcome->failure->message);
        }
        return *outcome;
      }
      times.push_back(std::get<CalibrationTimes>(measured));
    }
    const CollectiveRouting routing{.reduction_tree = run.reduction_tree,
                                    .uses_recursive_doubling = run.collective == "ring"};
    const CommunicationCosts costs =
        costs_of(times[0], times[1], topology, static_cast<int>(run.workers), routing);
    const MachineFile machine{.device = describe_program_and_machine(),
                              .configuration = decisive,
                              .cores = this_machine().cores,
                              .costs = costs};
    write_atomically(file, to_json(machine).dump(2) + "\n");
    fs::remove_all(work);
    return Json(file.string());
  };
  auto path = machines_.get_or_build(name, progress, find, build);
  if (auto* const outcome = std::get_if<Outcome>(&path)) return *outcome;
  return shared_machine(options, fs::path(std::get<Json>(path).get<std::string>()));
}

}  // namespace thinpipe

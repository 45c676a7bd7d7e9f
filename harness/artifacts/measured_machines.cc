// SPDX-License-Identifier: Apache-2.0
#include "harness/artifacts/measured_machines.hh"

#include <vector>

#include <fmt/format.h>

#include "harness/executors/worker_inputs.hh"
#include "harness/machine/communication_meter.hh"
#include "harness/machine/cpu_usage.hh"
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

constexpr const char* what = "measuring the costs of communication";

SharedMachine shared_machine(const MachineOptions& options, const std::optional<fs::path>& file) {
  SharedMachine out;
  if (file) {
    const MachineFile machine = load_machine_file(file->string());
    out = {.model = {.cores = machine.cores, .costs = machine.costs, .balancing_s = machine.balancing_s},
           .device = machine.device,
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

// Returns what determines the costs.
Json decisive_for(const Run& run) {
  const Json of_run = decisive_part(run);
  return {{"topology", of_run.at("topology")},
          {"collective", run.collective},
          {"workers", run.workers},
          {"machine", name_of_machine()},
          {"version", machine_content_version}};
}

// Measures how long steps take. Runs workers of a replay, with this trace and profile, in `folder`.
class Measurement {
 public:
  Measurement(const Run& run, Executor& executor, Progress& progress, const TimeLimits& limits,
              fs::path folder)
      : run_(run), executor_(executor), progress_(progress), limits_(limits), folder_(std::move(folder)) {
    run_.profile.reset();  // compute is emulated as in a replay with a profile measured here
  }

  // The outcome of workers that did not end. The measurements throw it.
  struct Failed {
    Outcome outcome;
  };

  // Returns the CPU time of communication per step of the calibration's trace.
  CalibrationTimes communication(const netem::Topology& topology) {
    const std::vector<CommunicationMeter::CpuTime> times =
        replay(topology, calibration_trace(workers()), calibration_profile());
    return {.short_s = times.at(1).used_s, .long_s = times.at(2).used_s};
  }

  // Returns the time of steps that compute: of the workers' CPU time and that in which cores are free. Other programs'
  // time does not count.
  double step_s(const netem::Topology& topology, double cores) {
    const std::vector<CommunicationMeter::CpuTime> times =
        replay(topology, balancing_trace(workers()), balancing_profile());
    return (times.at(1).used_s + times.at(1).free_s) / cores;
  }

 private:
  int workers() const { return static_cast<int>(run_.workers); }

  std::vector<CommunicationMeter::CpuTime> replay(const netem::Topology& topology,
                                                  const CommunicationTrace& trace,
                                                  const ComputeProfile& profile) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    const fs::path trace_file = folder_ / "trace.json";
    const fs::path profile_file = folder_ / "profile.json";
    write_atomically(trace_file, record_text(to_json(trace)));
    write_atomically(profile_file, record_text(to_json(profile)));
    const netem::Network network(topology, {}, netem::IdleCores::kept_awake);
    CommunicationMeter meter(*network.awake_cores());
    const WorkerInputs inputs(run_, folder_, "info");
    fs::create_directory(inputs.rendezvous());
    Job job{.workers = {}, .limits = limits_};
    for (std::int64_t rank = 0; rank < run_.workers; ++rank) {
      const netem::Host& host = network.hosts().at(static_cast<std::size_t>(rank));
      job.workers.push_back(inputs.replaying(rank, host, trace_file, profile_file));
    }
    const JobObserver observer{
        .event = [&](std::int64_t rank, const Event& event) { meter.take(rank, event); },
        .tick = [&](WorkerControl&, Seconds) { progress_.tick(); }};
    Outcome outcome = executor_.execute(job, observer);
    if (outcome.failure) {
      outcome.failure->message =
          fmt::format("{} in {}: {}", what, folder_.string(), outcome.failure->message);
    }
    if (outcome.status != Outcome::Status::completed) throw Failed{outcome};
    return meter.class_times();
  }

  Run run_;
  Executor& executor_;
  Progress& progress_;
  const TimeLimits& limits_;
  fs::path folder_;
};

MachineFile measure(const Run& run, Measurement& measurement) {
  const netem::Topology& topology = run.setting->topology;
  const auto workers = static_cast<int>(run.workers);
  const CollectiveRouting routing = routing_of(run);
  const CalibrationTimes capped = measurement.communication(topology);
  const CalibrationTimes uncapped = measurement.communication(without_caps(topology));
  const double cores = this_machine().cores;
  const CommunicationCosts costs = costs_of(capped, uncapped, topology, workers, routing);
  const double step_s = measurement.step_s(topology, cores);
  return {.device = describe_program_and_machine(),
          .configuration = decisive_for(run),
          .cores = cores,
          .costs = costs,
          .balancing_s = balancing_s_of(step_s, cores, costs, topology, workers, routing)};
}

}  // namespace

std::optional<fs::path> MeasuredMachines::missing(const Run& run) const {
  if (!run.machine || run.machine->costs == free_communication || run.machine->reads_file())
    return std::nullopt;
  return machines_.missing(content_hash(decisive_for(run).dump()) + ".json");
}

std::variant<SharedMachine, Outcome> MeasuredMachines::get_or_build(const Run& run, Executor& executor,
                                                                    Progress& progress,
                                                                    const TimeLimits& limits) {
  const MachineOptions& options = *run.machine;
  if (options.costs == free_communication) return shared_machine(options, std::nullopt);
  if (options.reads_file()) return shared_machine(options, options.costs);
  const std::string name = content_hash(decisive_for(run).dump());
  const fs::path file = fs::absolute(machines_.folder() / (name + ".json"));
  const auto find = [&]() -> std::optional<Json> {
    return fs::exists(file) ? std::optional(Json(file.string())) : std::nullopt;
  };
  const auto build = [&]() -> std::variant<Json, Outcome> {
    progress.wait(what);
    const fs::path folder = fs::absolute(machines_.folder() / name);
    Measurement measurement(run, executor, progress, limits, folder);
    try {
      MachineFile machine;
      const double share = measure_undisturbed(
          [&] {
            machine = measure(run, measurement);
            return true;
          },
          [&](double others) {
            progress.wait(
                fmt::format("{} again: other programs used {:.0f} % of the machine", what, 100 * others));
          });
      machine.device[others_share_key] = share;
      write_atomically(file, to_json(machine).dump(2) + "\n");
    } catch (const Measurement::Failed& failed) {
      return failed.outcome;
    }
    fs::remove_all(folder);
    return Json(file.string());
  };
  auto path = machines_.get_or_build(name, progress, find, build);
  if (auto* const outcome = std::get_if<Outcome>(&path)) return *outcome;
  return shared_machine(options, fs::path(std::get<Json>(path).get<std::string>()));
}

}  // namespace thinpipe

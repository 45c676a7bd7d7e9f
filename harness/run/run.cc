// SPDX-License-Identifier: Apache-2.0
#include "harness/run/run.hh"

#include <chrono>
#include <optional>

#include <fmt/format.h>

#include "common/protocol/full_disk.hh"
#include "common/support/atomic_file.hh"
#include "harness/executors/launch_environment.hh"
#include "harness/executors/script_command.hh"
#include "harness/executors/worker_inputs.hh"
#include "harness/machine/cpu_usage.hh"
#include "harness/plan/script_content.hh"
#include "harness/records/local_paths.hh"
#include "harness/records/provenance.hh"
#include "harness/records/record.hh"
#include "harness/run/event_recorder.hh"
#include "harness/run/fault_injector.hh"
#include "harness/run/gpu_warning.hh"
#include "harness/run/hold_warning.hh"
#include "harness/run/network/cluster_network.hh"
#include "harness/run/network/live_network.hh"
#include "harness/run/network/network_report.hh"
#include "harness/run/record_builder.hh"
#include "harness/run/restarts.hh"
#include "harness/run/run_log.hh"
#include "harness/run/run_parts.hh"
#include "harness/run/script/script_warnings.hh"
#include "harness/run/script_run.hh"
#include "netem/preload/preloaded.hh"
#include "netem/running_network.hh"
#include "netem/topology/topology_format.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

class RunInProgress {
 public:
  RunInProgress(const Run& run, const RunContext& context)
      : run_(run),
        context_(context),
        folder_(fs::absolute(context.results / run.id)),
        inputs_(run, folder_, context.log_level),
        record_(run, context.experiment, context.limits, describe_program_and_machine()),
        said_(run, context.progress, record_),
        parts_(run, folder_, !context.capture.links.empty(),
               [this](const std::string& line) { said_.note(line); }),
        faults_(run.worker_events),
        restarts_(run.on_worker_failure) {
    if (run.runs_command()) script_.emplace(run, record_);
  }

  Record execute() {
    if (parts_.can_be_continued() && !context_.fresh) parts_.find_earlier(record_.provenance());
    record_.set_provenance("command_line", context_.command_line);
    record_.set_provenance("started_at", utc_now());
    Outcome outcome;
    try {
      prepare_folder();
      outcome = train();
    } catch (const std::exception& error) {
      if (is_full_disk(error)) throw;
      outcome = {Outcome::Status::failed, Failure{.kind = "harness", .message = error.what()}};
      measure_until_failure();
    }
    if (outcome.failure && outcome.failure->kind == full_disk_kind) throw Error(outcome.failure->message);
    record_.set_provenance("ended_at", utc_now());
    Record written = record_.build(outcome, network_report(), faults_.recorded(), restarts_.recorded());
    parts_.join(written);
    said_.add(outcome);
    if (recorder_) recorder_->end(written);
    network_.reset();
    fs::remove_all(inputs_.rendezvous());
    fs::remove_all(inputs_.checkpoints());
    fs::remove(inputs_.begin_file());
    fs::remove(inputs_.stop_file());
    if (!parts_.end(outcome, written)) return written;
    if (written.checkpoint)
      said_.log()->info("keeps the checkpoint after iteration {}", written.checkpoint->after_iteration);
    const LocalPaths local_paths(local_folders(context_.results, run_.folder));
    write_atomically(folder_ / record_name, record_text(local_paths.without(to_json(written))));
    return written;
  }

 private:
  // Reads the links' byte counts after a failure, unless the network itself has failed.
  void measure_until_failure() {
    try {
      if (network_) network_->end();
    } catch (const std::exception& error) {
      if (said_.log()) said_.log()->warn("cannot read the links' final byte counts: {}", error.what());
    }
  }

  // Removes the files of an earlier attempt, except its record, which the new one replaces later.
  void prepare_folder() {
    fs::create_directories(folder_);
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const fs::path name = entry.path().filename();
      const bool is_kept = name == record_name || name == run_lock_name ||
                           (parts_.has_earlier() && name == interrupted_folder_name);
      if (!is_kept) fs::remove_all(entry.path());
    }
    said_.open(folder_ / "controller.log", context_.log_level);
    said_.log()->info("run {} of {}: {}", run_.id, context_.experiment, run_.label);
    recorder_.emplace(run_, folder_, context_.event_file,
                      EventRecorder::Recipients{.record = record_,
                                                .restarts = restarts_,
                                                .progress = context_.progress,
                                                .log = said_.log(),
                                                .note = [this](const std::string& line) { said_.note(line); },
                                                .training_begins = [this] { begin(); }});
  }

  Outcome train() {
    check_code_is_as_planned(run_);
    auto weights = context_.weights.get_or_build(run_, context_.executor, context_.progress, context_.limits);
    if (auto* const untrained = std::get_if<Outcome>(&weights)) return *untrained;
    if (const auto& initial = std::get<std::optional<SharedWeights>>(weights)) {
      record_.set_initial_weights(*initial);
      inputs_.start_from(initial->file);
    }
    parts_.continue_earlier(record_.initial_weights(), *recorder_, restarts_);
    if (run_.is_replay()) {
      record_.set_replayed(ReplayedTraining(context_.results / run_.convergence_run));
      auto profile = context_.profiles.get_or_build(run_, inputs_.initial_weights(), context_.executor,
                                                    context_.progress, context_.limits);
      if (auto* const unmeasured = std::get_if<Outcome>(&profile)) return *unmeasured;
      profile_path_ = std::get<Json>(profile).at("path").get<std::string>();
      record_.set_compute_profile(std::get<Json>(profile), load_profile(profile_path_));
    }
    if (run_.machine) {
      auto machine =
          context_.machines.get_or_build(run_, context_.executor, context_.progress, context_.limits);
      if (auto* const unmeasured = std::get_if<Outcome>(&machine)) return *unmeasured;
      machine_ = std::get<SharedMachine>(std::move(machine));
      record_.set_machine(*machine_);
    }
    if (run_.mode == Mode::simulate) return simulate();
    if (run_.mode == Mode::cluster) {
      if (auto failed = measure_cluster()) return *failed;
    } else if (run_.mode != Mode::converge) {
      build_network();
    }
    if (run_.mode == Mode::live) warn_of_gpus();
    Outcome outcome = attempt();
    while (restarts_.follow(outcome)) {
      said_.add(outcome);
      said_.note("restarting: " + outcome.failure->message);
      restarts_.begin(*outcome.failure, measured().iterations(), measured().train_time_s(), now_s());
      if (network_) network_->set_back(measured().train_time_s());
      outcome = attempt();
    }
    if (network_) {
      network_->end();
      for (const netem::LinkCapture& capture : network_->captured()) said_.add(capture);
      fidelity_ = network_->fidelity(outcome.status == Outcome::Status::completed, checks_of_profile());
    }
    if (outcome.status == Outcome::Status::completed) warn_of_what_was_missed();
    return outcome;
  }

  // Training has ended as planned: says what its results lack.
  void warn_of_what_was_missed() {
    if (network_) {
      for (const netem::NetworkChange& event : network_->missed())
        said_.warn_of_missed(event.place / "at", trained_s());
    }
    for (const WorkerEvent& event : faults_.missed()) said_.warn_of_missed(event.place, trained_s());
    if (cluster_ && !cluster_->measure_after(context_.executor, context_.progress, context_.limits))
      said_.warn("the network could not be measured after training, so it is not known how steady it was");
    // A script without a curve has a warning of its own.
    if (!run_.is_replay() && !measured().curve().empty()) {
      if (const auto warning = warn_of_few_evaluations(measured().curve().size(), run_.training->config))
        said_.warn(*warning);
    }
    if (script_ && network_) {
      for (const std::string& line : script_warnings(run_, script_->progress(), network_->wire_bytes()))
        said_.warn(line);
    }
  }

  // Returns whether other programs disturbed the measurement of the compute times that a replay uses.
  std::vector<netem::Check> checks_of_profile() const {
    if (!run_.is_replay()) return {};
    const auto share = others_share_of(load_profile(profile_path_).device);
    if (!share) return {};
    netem::Check check = check_other_programs(*share);
    check.name += " while compute was measured";
    return {check};
  }

  void warn_of_disturbed(const Json& device, const char* what) {
    const auto share = others_share_of(device);
    if (share > max_share_of_others) {
      said_.warn(
          fmt::format("other programs used {:.0f} % of the machine while {} was measured, so it is too long",
                      100 * *share, what));
    }
  }

  Outcome simulate() {
    const ComputeProfile profile = load_profile(profile_path_);
    warn_of_disturbed(profile.device, "the compute time");
    if (machine_) warn_of_disturbed(machine_->device, "the CPU time of communication");
    const auto model = machine_ ? std::optional(machine_->model) : std::nullopt;
    const std::vector<Event> events =
        record_.replayed()->simulate(run_.setting->topology, profile, routing_of(run_), model);
    for (const Event& event : events) recorder_->add(0, event);
    return {};
  }

  void build_network() {
    network_.emplace(run_.setting->topology, run_.schedule, context_.idle_cores, now_s(), run_.cross_traffic,
                     context_.connections);
    record_.set_provenance("congestion_control", network_->congestion_control());
    if (context_.link_samples_per_s > 0)
      network_->keep_series(folder_ / "links.jsonl", context_.link_samples_per_s);
    if (run_.setting->topology.is_emulated()) {
      netem::write_network_file(folder_ / netem::network_file_name, network_->network());
      if (!context_.capture.links.empty()) network_->capture(context_.capture, folder_);
    }
    inputs_.let_workers_wait();
    if (context_.worker_times) inputs_.let_workers_report_times();
    recorder_->use(*network_, context_.worker_times);
    said_.log()->info("built the network {}: {} workers", run_.setting->topology.name, run_.workers);
  }

  // Returns how it ended if there is no network to train over.
  std::optional<Outcome> measure_cluster() {
    cluster_.emplace(run_, folder_, context_.log_level);
    if (auto failed = cluster_->measure_before(context_.executor, context_.progress, context_.limits))
      return failed;
    inputs_.use_tree(cluster_->reduction_tree());
    write_atomically(folder_ / "measured-topology.json", netem::to_json(cluster_->topology()).dump(2) + "\n");
    said_.log()->info("measured the network between {} machines; see measured-topology.json", run_.workers);
    return std::nullopt;
  }

  // Runs all workers to their end, from the start or from a checkpoint.
  Outcome attempt() {
    if (script_) script_->start(meeting_at(host(0)), now_s());
    fs::remove_all(inputs_.rendezvous());
    fs::create_directory(inputs_.rendezvous());
    if (cluster_) {
      rendezvous_ = cluster_->rendezvous();
      inputs_.meet_at(rendezvous_.addresses);
      inputs_.use_environment(rendezvous_.environment);
    }
    Job job{.workers = {}, .limits = context_.limits, .saves_on_stop = parts_.can_be_continued()};
    if (job.saves_on_stop) inputs_.let_workers_save(parts_.after_iteration());
    if (network_) job.tick_period = network_->tick_period().value_or(job.tick_period);
    if (run_.mode == Mode::converge) {
      job.workers.push_back(inputs_.converging());
    } else {
      for (std::int64_t rank = 0; rank < run_.workers; ++rank) job.workers.push_back(worker(rank));
    }
    const Outcome outcome = context_.executor.execute(
        job,
        {.event = [this](std::int64_t rank, const Event& event) { recorder_->add(rank, event); },
         .output =
             [this](std::int64_t rank, const std::string& line) {
               if (rank == 0) script_->take_line(line, now_s(), *recorder_);
             },
         .report =
             [this](std::int64_t rank, const std::string& line) {
               if (rank == 0) script_->take_report(line, now_s(), *recorder_);
             },
         .tick = [this](WorkerControl& workers, Seconds late) { tick(workers, late); },
         .stopping = [this] { said_.note("stops with a checkpoint; a second signal stops it at once"); }});
    return script_ ? script_->end(outcome, now_s(), *recorder_) : outcome;
  }

  const netem::Host& host(std::int64_t rank) const {
    return cluster_ ? cluster_->host(rank) : network_->host(rank);
  }

  std::string network_interface(std::int64_t rank) const {
    if (cluster_) return cluster_->network_interface(rank);
    return host(rank).network_namespace ? netem::host_interface : "lo";
  }

  WorkerCommand program(std::int64_t rank) const {
    if (run_.is_replay())
      return inputs_.replaying(rank, host(rank), record_.replayed()->trace_path(), profile_path_);
    if (script_)
      return script_worker(run_, rank, host(rank), script_->meeting(), network_interface(rank), folder_);
    return inputs_.training(rank, host(rank));
  }

  WorkerCommand worker(std::int64_t rank) const {
    WorkerCommand out = program(rank);
    if (cluster_) out.launcher = cluster_->launcher(rank);
    if (out.script) {
      const auto more = cluster_ ? rendezvous_.environment : netem::polling_environment();
      out.script->environment.insert(out.script->environment.end(), more.begin(), more.end());
    }
    return out;
  }

  void warn_of_gpus() {
    const auto warning = warn_of_shared_gpus(run_.training->config, std::ssize(visible_gpus()));
    if (warning) said_.warn(*warning);
  }

  // Training begins.
  void begin() {
    if (network_ && script_) {  // which trains already
      network_->begin(now_s());
      network_->begin_connections_at_once();
    } else if (network_) {
      network_->begin_connections();
      network_->begin(now_s());
      write_atomically(inputs_.begin_file(), "");
    }
    faults_.begin(now_s());
  }

  static double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  void tick(WorkerControl& workers, Seconds late) {
    if (network_) {
      for (Json& change : network_->tick(now_s(), late.count())) {
        said_.log()->info("network event: {}", record_.add_change(std::move(change)).dump());
      }
      if (const auto use = network_->use_since_last()) recorder_->add_link_use(*use);
    }
    for (const std::string& line :
         faults_.apply_due(now_s(), measured().iterations(), measured().train_time_s(), workers)) {
      said_.log()->info("worker event, {}", line);
    }
    context_.progress.tick();
  }

  // Returns how long training took, by the clock that events follow if there are links to meter.
  double trained_s() const {
    const double metered_s = network_ ? network_->measured_s() : 0;
    return metered_s > 0 ? metered_s : measured().train_time_s();
  }

  NetworkReport network_report() const {
    if (cluster_) return report_on(*cluster_, measured().train_time_s());
    if (!network_) return {};
    const bool is_metered_throughout = run_.is_replay() || run_.runs_command();
    const double time_s = is_metered_throughout ? network_->measured_s()
                                                : measured().train_time_s() - parts_.earlier_train_time_s();
    return report_on(*network_, time_s, fidelity_);
  }

  const Measurements& measured() const { return record_.measurements(); }

  const Run& run_;
  const RunContext& context_;
  fs::path folder_;
  WorkerInputs inputs_;
  RecordBuilder record_;
  RunLog said_;
  RunParts parts_;
  std::string profile_path_;              // of a replay
  std::optional<SharedMachine> machine_;  // of a simulation
  Json fidelity_ = nullptr;               // stays null if no network is emulated
  std::optional<LiveNetwork> network_;
  std::optional<ClusterNetwork> cluster_;
  ClusterRendezvous rendezvous_;     // of the attempt, in a cluster
  std::optional<ScriptRun> script_;  // if the workers run one
  FaultInjector faults_;
  Restarts restarts_;
  std::optional<EventRecorder> recorder_;  // none before the folder is prepared
};

}  // namespace

Record execute_run(const Run& run, const RunContext& context) {
  return RunInProgress(run, context).execute();
}

}  // namespace thinpipe

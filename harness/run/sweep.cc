// SPDX-License-Identifier: Apache-2.0
#include "harness/run/sweep.hh"

#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "common/support/utf8.hh"
#include "harness/artifacts/initial_weights.hh"
#include "harness/executors/local.hh"
#include "harness/records/lock_file.hh"
#include "harness/records/record.hh"
#include "harness/reports/tensorboard.hh"
#include "harness/run/run.hh"
#include "harness/terminal/progress.hh"
#include "netem/network.hh"

namespace thinpipe {
namespace {

class Sweep {
 public:
  Sweep(const std::vector<Run>& runs, KeptRuns kept, const SweepOptions& options,
        const TrainerProgram& trainer, StopSignals& stop)
      : runs_(runs),
        kept_(std::move(kept)),
        options_(options),
        stop_(stop),
        executor_(trainer.path(), stop),
        weights_(options.results / "initial-weights", options.artifacts_since, stop),
        profiles_(options.results / "compute-profiles", options.artifacts_since, options.idle_cores, stop),
        machines_(options.results / "machines", options.artifacts_since, stop),
        progress_(runs.size()) {
    if (options.tensorboard.empty()) return;
    EventFilePaths paths;
    for (const Run& run : runs) event_files_.push_back(paths.of(options.tensorboard, run.label, run.id));
  }

  SweepResult run() {
    std::vector<std::size_t> held_elsewhere;
    std::set<std::string> ids_elsewhere;  // a replay waits for its convergence run, which comes before it
    for (std::size_t i = 0; i < runs_.size() && !interrupted(); ++i) {
      if (kept_[i]) {
        take(i, *std::move(kept_[i]), "earlier");
        continue;
      }
      if (!ids_elsewhere.contains(runs_[i].convergence_run) && try_run(i)) continue;
      held_elsewhere.push_back(i);
      ids_elsewhere.insert(runs_[i].id);
    }
    for (const std::size_t i : held_elsewhere) {
      if (interrupted()) break;
      wait_for(i);
    }
    SweepResult result{.digests = {}, .all_well = digests_.size() == runs_.size()};
    for (auto& [index, digest] : digests_) {
      result.all_well = result.all_well && status_of(digest) == "completed";
      result.digests.push_back(std::move(digest));
    }
    return result;
  }

  bool prepare(Preparation preparation) {
    bool all_well = true;
    for (std::size_t i = 0; i < runs_.size() && !interrupted(); ++i) {
      progress_.begin(i, runs_[i].label, 0, "preparing");
      const Outcome outcome = prepare(runs_[i], preparation);
      all_well = all_well && outcome.status == Outcome::Status::completed;
      if (outcome.failure) log_note(i, "failed: " + outcome.failure->message);
    }
    return all_well && !interrupted();
  }

 private:
  Outcome prepare(const Run& run, Preparation preparation) {
    const auto weights = weights_.get_or_build(run, executor_, progress_, options_.limits);
    if (const auto* const failed = std::get_if<Outcome>(&weights)) return *failed;
    if (preparation == Preparation::weights || !run.is_replay()) return {};
    const auto& shared = std::get<std::optional<SharedWeights>>(weights);
    const auto profile = profiles_.get_or_build(run, shared ? std::optional(shared->file) : std::nullopt,
                                                executor_, progress_, options_.limits);
    if (const auto* const failed = std::get_if<Outcome>(&profile)) return *failed;
    if (!run.machine) return {};
    const auto machine = machines_.get_or_build(run, executor_, progress_, options_.limits);
    const auto* const failed = std::get_if<Outcome>(&machine);
    return failed != nullptr ? *failed : Outcome{};
  }

  bool interrupted() { return interrupted_ || stop_.requested(); }

  std::filesystem::path lock_path(std::size_t index) const {
    return options_.results / runs_[index].id / run_lock_name;
  }

  void log_note(std::size_t index, const std::string& text) {
    progress_.note(fmt::format("[{}/{}] {}: {}", index + 1, runs_.size(), runs_[index].label, text));
  }

  // Takes the run's record or executes the run. Returns false if another controller executes it.
  bool try_run(std::size_t index) {
    if (reuse(index, "earlier")) return true;
    std::filesystem::create_directories(lock_path(index).parent_path());
    note_leases(index);
    const auto lock = LockFile::try_hold(lock_path(index));
    if (!lock) {
      log_note(index, fmt::format("is being run by {}; this command waits for its result at the end",
                                  LockFile::holder(lock_path(index))));
      return false;
    }
    // Another controller may have ended it before the lock was taken.
    if (!reuse(index, "earlier")) execute(index);
    return true;
  }

  void note_leases(std::size_t index) {
    if (std::exchange(locks_are_known_, true) || !needs_leases(lock_path(index).parent_path())) return;
    progress_.note(fmt::format(
        "flock does not work in {}: runs are locked by files that their controllers touch every few seconds",
        options_.results.string()));
  }

  bool reuse(std::size_t index, const std::string& when) {
    auto found = find_kept(runs_[index], options_.results, options_.repeat);
    if (!found) return false;
    take(index, *std::move(found), when);
    return true;
  }

  void take(std::size_t index, Digest digest, const std::string& when) {
    if (status_of(digest) == "completed") {
      log_note(index, "completed " + when);
    } else {
      const auto message = digest.row.value(Json::json_pointer("/error/message"), std::string());
      log_note(index, fmt::format("failed {}: {}; --retry-failed runs it again", when, message));
    }
    digests_[index] = std::move(digest);
    export_events(index);
  }

  // Returns an empty path if no event files are wanted.
  std::filesystem::path event_file(std::size_t index) const {
    return event_files_.empty() ? std::filesystem::path() : event_files_[index];
  }

  // Writes the event file of a run that this command did not execute.
  void export_events(std::size_t index) const {
    if (event_files_.empty()) return;
    if (const auto record = find_record(record_path(runs_[index], options_.results)))
      write_event_file(*record, event_files_[index]);
  }

  // Returns whether the run replays a training that was interrupted, and so has to be completed first.
  bool awaits_training(std::size_t index) const {
    const Run& run = runs_[index];
    if (!run.is_replay()) return false;
    const auto training = find_record(options_.results / run.convergence_run / record_name);
    return training && training->status == "interrupted";
  }

  void execute(std::size_t index) {
    if (awaits_training(index)) {
      log_note(index, fmt::format(
                          "left out: its convergence run {} was interrupted; the same command continues both",
                          runs_[index].convergence_run));
      return;
    }
    progress_.begin(index, runs_[index].label, runs_[index].planned_iterations());
    progress_.publish(options_.results / runs_[index].id / progress_file_name);
    Record record =
        execute_run(runs_[index], {.experiment = options_.experiment,
                                   .results = options_.results,
                                   .command_line = options_.command_line,
                                   .fresh = starts_over(runs_[index], options_.results, options_.repeat),
                                   .limits = options_.limits,
                                   .idle_cores = options_.idle_cores,
                                   .link_samples_per_s = options_.link_samples_per_s,
                                   .capture = options_.capture,
                                   .connections = options_.connections,
                                   .worker_times = options_.worker_times,
                                   .event_file = event_file(index),
                                   .log_level = options_.log_level,
                                   .executor = executor_,
                                   .weights = weights_,
                                   .profiles = profiles_,
                                   .machines = machines_,
                                   .progress = progress_});
    progress_.end(record);
    digests_[index] = digest(std::move(record));
    interrupted_ = status_of(digests_[index]) == "interrupted";
  }

  // Waits for the lock's holder. It leaves a new record if it ends the run; if it dies, there is none or the
  // old one.
  void wait_for(std::size_t index) {
    const auto path = lock_path(index);
    auto lock = LockFile::try_hold(path);
    if (!lock) {
      const auto waiting = [&path] { return "waiting for " + LockFile::holder(path); };
      progress_.begin(index, runs_[index].label, 0, waiting());
      lock = LockFile::wait_for(path, [&] {
        progress_.wait(waiting());
        return interrupted();
      });
    }
    if (lock && !reuse(index, "meanwhile")) execute(index);
  }

  const std::vector<Run>& runs_;
  bool locks_are_known_ = false;
  KeptRuns kept_;
  const SweepOptions& options_;
  StopSignals& stop_;
  LocalExecutor executor_;
  InitialWeights weights_;
  ComputeProfiles profiles_;
  MeasuredMachines machines_;
  Progress progress_;
  std::vector<std::filesystem::path> event_files_;  // of the runs; empty if none are wanted
  std::map<std::size_t, Digest> digests_;           // by the index of the run
  bool interrupted_ = false;
};

}  // namespace

SweepResult run_sweep(const std::vector<Run>& runs, KeptRuns kept, const SweepOptions& options,
                      const TrainerProgram& trainer, StopSignals& stop) {
  const std::string results = std::filesystem::absolute(options.results).string();
  if (find_invalid_utf8(results)) {
    throw InputError({printable(results), ""},
                     "is not UTF-8, so a record cannot contain it; work in another folder");
  }
  // Reports now if the kernel lacks something that a later run needs.
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!kept[i] && runs[i].needs_network) netem::check_kernel(runs[i].setting->topology, runs[i].schedule);
  }
  return Sweep(runs, std::move(kept), options, trainer, stop).run();
}

MissingFiles missing_files(const Run& run, const SweepOptions& options, StopSignals& stop) {
  const auto since = options.artifacts_since;
  MissingFiles out;
  out.weights = InitialWeights(options.results / "initial-weights", since, stop).missing(run);
  const ComputeProfiles profiles(options.results / "compute-profiles", since, options.idle_cores, stop);
  if (const auto profile = profiles.missing(run)) out.measurements.push_back(*profile);
  const MeasuredMachines machines(options.results / "machines", since, stop);
  if (const auto machine = machines.missing(run)) out.measurements.push_back(*machine);
  return out;
}

bool prepare_runs(const std::vector<Run>& runs, Preparation preparation, const SweepOptions& options,
                  const TrainerProgram& trainer, StopSignals& stop) {
  return Sweep(runs, KeptRuns(runs.size()), options, trainer, stop).prepare(preparation);
}

}  // namespace thinpipe

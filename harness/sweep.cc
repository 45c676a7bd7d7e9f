#include "harness/sweep.hh"

#include <map>

#include <fmt/format.h>

#include "harness/executors/local.hh"
#include "harness/lock_file.hh"
#include "harness/progress.hh"
#include "harness/record.hh"
#include "harness/replay/trace.hh"
#include "harness/run.hh"
#include "harness/starting_weights.hh"
#include "netem/network.hh"

namespace thinpipe {
namespace {

std::string status_of(const Json& record) {
  return record.value("status", "");
}

// The run's record as it lies in the results, whatever became of it.
std::optional<Json> existing_record(const Run& run, const SweepOptions& options) {
  std::optional<Json> record = find_record(options.results / run.id / "run.json");
  if (!record || record->at("schema_version") != record_schema_version) return std::nullopt;
  // The same run under another name is the same run.
  record->update(
      {{"label", run.label},
       {"labels", Json(std::map<std::string, std::string>(run.labels.begin(), run.labels.end()))}});
  return record;
}

class Sweep {
 public:
  Sweep(const std::vector<Run>& runs, const SweepOptions& options, const TrainerProgram& trainer,
        StopSignals& stop)
      : runs_(runs),
        options_(options),
        stop_(stop),
        executor_(trainer.path(), stop),
        weights_(options.results / "starting-weights", options.fresh, stop),
        profiles_(options.results / "compute-profiles", options.fresh, options.idle_cores, stop),
        progress_(runs.size()) {}

  SweepResult run() {
    std::vector<Held> held_elsewhere;
    for (std::size_t i = 0; i < runs_.size() && !interrupted(); ++i) {
      // As it was before the lock is seen to be held: a record that comes after that is the holder's.
      std::optional<Json> record = existing_record(runs_[i], options_);
      if (!settle(i)) held_elsewhere.push_back({i, std::move(record)});
    }
    for (const Held& held : held_elsewhere) {
      if (interrupted()) break;
      wait_for(held);
    }
    SweepResult result{.records = {}, .all_well = records_.size() == runs_.size()};
    for (auto& [index, record] : records_) {
      result.all_well = result.all_well && status_of(record) == "completed";
      result.records.push_back(std::move(record));
    }
    return result;
  }

 private:
  struct Held {
    std::size_t index;
    std::optional<Json> record;  // as it was before somebody else was seen to be at the run
  };

  bool interrupted() { return interrupted_ || stop_.requested(); }

  std::filesystem::path lock_path(std::size_t index) const {
    return options_.results / runs_[index].id / run_lock_name;
  }

  void note(std::size_t index, const std::string& text) {
    progress_.note(fmt::format("[{}/{}] {}: {}", index + 1, runs_.size(), runs_[index].label, text));
  }

  // Takes the run's record, or runs it; false where another controller is at it.
  bool settle(std::size_t index) {
    if (take_kept(index)) return true;
    std::filesystem::create_directories(lock_path(index).parent_path());
    const auto lock = LockFile::try_hold(lock_path(index));
    if (!lock) {
      note(index,
           fmt::format("is being run by {}; its turn comes at the end", LockFile::holder(lock_path(index))));
      return false;
    }
    // Between the two lines above another controller may have ended it.
    if (!take_kept(index)) execute(index);
    return true;
  }

  bool take_kept(std::size_t index) {
    auto record = kept_record(runs_[index], options_);
    if (!record) return false;
    take(index, *std::move(record), "earlier");
    return true;
  }

  void take(std::size_t index, Json record, const std::string& when) {
    if (status_of(record) == "completed") {
      note(index, "completed " + when);
    } else {
      const auto message = record.value(Json::json_pointer("/error/message"), std::string());
      note(index, fmt::format("failed {}: {}; --retry-failed runs it again", when, message));
    }
    records_[index] = std::move(record);
  }

  void execute(std::size_t index) {
    progress_.begin(index, runs_[index].label, runs_[index].plan.at("iterations").get<std::int64_t>());
    Json record = execute_run(runs_[index], {.experiment = options_.experiment,
                                             .results = options_.results,
                                             .command_line = options_.command_line,
                                             .limits = options_.limits,
                                             .idle_cores = options_.idle_cores,
                                             .log_level = options_.log_level,
                                             .executor = executor_,
                                             .weights = weights_,
                                             .profiles = profiles_,
                                             .progress = progress_});
    progress_.end(record);
    interrupted_ = status_of(record) == "interrupted";
    records_[index] = std::move(record);
  }

  // Whoever was at the run has left a record when it is done, and none, or the old one, when it has died.
  void wait_for(const Held& held) {
    const auto path = lock_path(held.index);
    auto lock = LockFile::try_hold(path);
    if (!lock) {
      const auto waiting = [&path] { return "waiting for " + LockFile::holder(path); };
      progress_.begin(held.index, runs_[held.index].label, 0, waiting());
      lock = LockFile::wait_for(path, [&] {
        progress_.wait(waiting());
        return interrupted();
      });
    }
    if (!lock) return;
    auto record = existing_record(runs_[held.index], options_);
    const bool ended = record && (status_of(*record) == "completed" || status_of(*record) == "failed");
    if (ended && record != held.record) {
      take(held.index, *std::move(record), "meanwhile");
    } else {
      execute(held.index);
    }
  }

  const std::vector<Run>& runs_;
  const SweepOptions& options_;
  StopSignals& stop_;
  LocalExecutor executor_;
  StartingWeights weights_;
  ComputeProfiles profiles_;
  Progress progress_;
  std::map<std::size_t, Json> records_;  // by the index of the run
  bool interrupted_ = false;
};

}  // namespace

std::optional<Json> kept_record(const Run& run, const SweepOptions& options) {
  if (options.fresh) return std::nullopt;
  std::optional<Json> record = existing_record(run, options);
  if (!record) return std::nullopt;
  if (run.leaves_trace && !std::filesystem::exists(options.results / run.id / trace_file_name))
    return std::nullopt;
  const std::string status = status_of(*record);
  const bool degraded = record->value("/fidelity/verdict"_json_pointer, "") == "degraded";
  const bool kept = (status == "completed" && !(degraded && options.retry_degraded)) ||
                    (status == "failed" && !options.retry_failed);
  return kept ? record : std::nullopt;
}

SweepResult run_sweep(const std::vector<Run>& runs, const SweepOptions& options,
                      const TrainerProgram& trainer, StopSignals& stop) {
  // A kernel that lacks what a later run needs is better heard of now.
  for (const Run& run : runs) {
    if (run.needs_network() && !kept_record(run, options)) netem::check_kernel(run.topology, run.schedule);
  }
  return Sweep(runs, options, trainer, stop).run();
}

}  // namespace thinpipe

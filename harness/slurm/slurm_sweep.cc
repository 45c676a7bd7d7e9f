// SPDX-License-Identifier: Apache-2.0
#include "harness/slurm/slurm_sweep.hh"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>

#include "common/support/standard_streams.hh"
#include "common/support/utf8.hh"
#include "harness/slurm/batch_script.hh"
#include "harness/slurm/slurm.hh"
#include "harness/slurm/submission.hh"
#include "harness/slurm/tasks_of_runs.hh"
#include "harness/terminal/progress.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds poll_period{10};  // administrators ask for no more
// A record may become visible on a shared file system some time after its job has ended.
constexpr int polls_without_record = 3;

// Returns the last line of a task's output, which has the reason if the task failed; empty if there is none.
std::string last_line(const std::string& log) {
  std::ifstream lines(log);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) last = line;
  }
  return printable(last);
}

class SlurmSweep {
 public:
  SlurmSweep(const std::vector<Run>& runs, KeptRuns kept, const SweepOptions& sweep,
             const SlurmOptions& options, StopSignals& stop)
      : runs_(runs),
        sweep_(sweep),
        options_(options),
        stop_(stop),
        results_(fs::absolute(sweep.results)),
        progress_(runs.size()),
        digests_(std::move(kept)),
        old_records_(runs.size()),
        polls_since_end_(runs.size()) {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (digests_[i]) continue;
      open_.insert(i);
      old_records_[i] = record_hash(runs_[i], results_);
    }
  }

  SweepResult run() {
    look();
    submit();
    if (options_.detach) {
      print_stderr("thinpipe: {} runs are with Slurm; `thinpipe status {}` shows them\n", open_.size(),
                   sweep_.results.string());
      return {};
    }
    while (!open_.empty() && wait()) {
      if (can_look()) settle();
    }
    if (!open_.empty()) {
      print_stderr(
          "thinpipe: {} runs remain with Slurm; `thinpipe status {}` shows them, `thinpipe cancel {}` "
          "cancels them, and this command again{} waits for them\n",
          open_.size(), sweep_.results.string(), sweep_.results.string(),
          sweep_.repeat.all ? ", without --fresh," : "");
    }
    return result();
  }

 private:
  // Slurm may be out of reach for a while, during which nothing is known of the tasks.
  bool can_look() {
    try {
      look();
      return true;
    } catch (const Error& error) {
      progress_.note(fmt::format("{}; asking again", error.what()));
      return false;
    }
  }

  // Asks Slurm for the states of all tasks.
  void look() {
    const std::vector<Submission> submissions = read_submissions(results_);
    const std::vector<SlurmTask> tasks = slurm_.tasks(job_names(submissions));
    tasks_ = tasks_of_runs(submissions, tasks, results_);
  }

  void submit() {
    std::vector<std::size_t> first;
    std::vector<std::size_t> second;
    std::set<std::string> convergence_jobs;
    for (const std::size_t i : open_) {
      if (is_live(tasks_, runs_[i].id)) {
        if (runs_[i].leaves_trace) convergence_jobs.insert(tasks_.at(runs_[i].id).task.job);
        continue;
      }
      (runs_[i].is_replay() ? second : first).push_back(i);
    }
    if (first.empty() && second.empty()) return;
    const auto size = static_cast<std::size_t>(slurm_.max_array_size());
    const bool has_traces = std::ranges::any_of(first, [&](std::size_t i) { return runs_[i].leaves_trace; });
    std::vector<MissingFiles> missing(runs_.size());
    for (const std::vector<std::size_t>* const chosen : {&first, &second}) {
      for (const std::size_t i : *chosen) missing[i] = missing_files(runs_[i], sweep_, stop_);
    }
    const Preparing preparing = submit_preparation(missing, size);
    const auto [without_weights, end] =
        std::ranges::stable_partition(first, [&](std::size_t i) { return !missing[i].weights; });
    const std::vector<std::size_t> waiting(without_weights, end);
    first.erase(without_weights, end);
    const auto submit_first = [&](const std::vector<std::size_t>& chosen,
                                  const std::set<std::string>& before) {
      for (const std::string& job : submit_arrays(chosen, size, after(before))) {
        if (has_traces) convergence_jobs.insert(job);
      }
    };
    submit_first(first, {});
    submit_first(waiting, preparing.weights);
    convergence_jobs.insert(preparing.all.begin(), preparing.all.end());
    submit_arrays(second, size, after(convergence_jobs));
    look();
  }

  static std::vector<std::string> after(const std::set<std::string>& jobs) {
    if (jobs.empty()) return {};
    return {fmt::format("--dependency=afterany:{}", fmt::join(jobs, ":"))};
  }

  // Jobs that make what several runs need.
  struct Preparing {
    std::set<std::string> weights;
    std::set<std::string> all;  // those and the measurements
  };

  // A file that one task makes for several runs.
  struct Shared {
    std::size_t maker = 0;  // the run for which the task makes it
    std::size_t runs = 0;
  };

  // Submits tasks that make what is missing, by run, and needed by several: initial weights, and after them compute
  // profiles and costs of communication.
  Preparing submit_preparation(const std::vector<MissingFiles>& missing, std::size_t size) {
    std::map<fs::path, Shared> weights;
    std::map<fs::path, Shared> measurements;
    for (std::size_t i = 0; i < missing.size(); ++i) {
      const auto count = [i](std::map<fs::path, Shared>& files, const fs::path& file) {
        ++files.try_emplace(file, Shared{.maker = i}).first->second.runs;
      };
      if (missing[i].weights) count(weights, *missing[i].weights);
      for (const fs::path& file : missing[i].measurements) count(measurements, file);
    }
    Preparing out;
    for (const std::string& job : submit_makers(weights, "weights", {}, size)) out.weights.insert(job);
    out.all = out.weights;
    for (const std::string& job : submit_makers(measurements, "measurements", out.weights, size))
      out.all.insert(job);
    return out;
  }

  // A run that is executed afresh takes what is shared as it is.
  std::vector<std::string> submit_makers(const std::map<fs::path, Shared>& files, const std::string& prepares,
                                         const std::set<std::string>& before, std::size_t size) {
    std::set<std::size_t> makers;
    for (const auto& [file, shared] : files) {
      if (shared.runs > 1 || sweep_.repeat.all) makers.insert(shared.maker);
    }
    return submit_arrays({makers.begin(), makers.end()}, size, after(before), prepares);
  }

  // Only workers of mode "cluster" have machines of their own. A simulation disturbs nobody.
  static TaskNeeds needs_of(const Run& run) {
    return {.nodes = run.mode == Mode::cluster ? run.workers : 1, .exclusive = run.mode != Mode::simulate};
  }

  // What is measured needs a node for itself.
  static TaskNeeds needs_of_preparation(const Run& run, const std::string& prepares) {
    const bool only_estimates = prepares == "measurements" && run.profile && !run.machine;
    return {.nodes = 1, .exclusive = !only_estimates};
  }

  // Submits arrays of runs with the same needs. Returns the ids of the jobs. `prepares`: see Submission.
  std::vector<std::string> submit_arrays(const std::vector<std::size_t>& chosen, std::size_t size,
                                         const std::vector<std::string>& further,
                                         const std::string& prepares = {}) {
    std::map<TaskNeeds, std::vector<std::size_t>> alike;
    for (const std::size_t i : chosen)
      alike[prepares.empty() ? needs_of(runs_[i]) : needs_of_preparation(runs_[i], prepares)].push_back(i);
    std::vector<std::string> jobs;
    for (const auto& [needs, runs] : alike) {
      for (std::size_t begin = 0; begin < runs.size(); begin += size) {
        const std::size_t end = std::min(begin + size, runs.size());
        jobs.push_back(submit_array({runs.begin() + begin, runs.begin() + end}, needs, further, prepares));
      }
    }
    return jobs;
  }

  std::string submit_array(const std::vector<std::size_t>& chosen, const TaskNeeds& needs,
                           const std::vector<std::string>& further, const std::string& prepares) {
    Submission submission = new_submission(sweep_.experiment);
    submission.prepares = prepares;
    for (const std::size_t i : chosen)
      submission.runs.push_back({.id = runs_[i].id, .label = runs_[i].label});
    std::vector<std::string> options = sbatch_paths(submission, results_, fs::current_path());
    options.insert(options.end(), further.begin(), further.end());
    options.insert(options.end(), options_.sbatch_options.begin(), options_.sbatch_options.end());
    write_submission(results_, submission);
    try {
      const std::string job = slurm_.submit(batch_script(submission, options_.command, needs), options);
      print_stderr("thinpipe: job {}: {} {}\n", job, chosen.size(),
                   prepares.empty() ? "runs" : "tasks that prepare runs");
      return job;
    } catch (const Error&) {
      remove_submission(results_, submission);
      throw;
    }
  }

  // Returns false if a stop was requested.
  bool wait() {
    ::pollfd signal{.fd = stop_.descriptor().get(), .events = POLLIN, .revents = 0};
    const auto period = std::chrono::milliseconds(poll_period);
    ::poll(&signal, 1, static_cast<int>(period.count()));
    return !stop_.requested();
  }

  // Takes the records of runs that have ended, and gives up those that left none.
  void settle() {
    for (auto next = open_.begin(); next != open_.end();) {
      const std::size_t i = *next;
      next = settle_run(i) ? open_.erase(next) : std::next(next);
    }
    std::size_t waiting = 0;
    std::size_t running = 0;
    for (const std::size_t i : open_) {
      const auto found = tasks_.find(runs_[i].id);
      if (found == tasks_.end() || !is_live(tasks_, runs_[i].id)) continue;
      ++(waits(found->second.task) ? waiting : running);
    }
    const std::string counts = fmt::format("{} of {} runs ended, {} running, {} waiting",
                                           runs_.size() - open_.size(), runs_.size(), running, waiting);
    if (std::exchange(shown_counts_, counts) != counts) progress_.note(counts);
  }

  // Returns whether the run has ended, with a record or without.
  bool settle_run(std::size_t i) {
    std::optional<Digest> digest = new_digest(i);
    const std::string status = digest ? status_of(*digest) : "";
    if (status != "completed" && status != "failed") {
      if (is_live(tasks_, runs_[i].id)) polls_since_end_[i] = 0;
      if (is_live(tasks_, runs_[i].id) || ++polls_since_end_[i] < polls_without_record) return false;
    }
    note(i, digest ? outcome_of(*digest) : loss_of(runs_[i]));
    digests_[i] = std::move(digest);
    return true;
  }

  // Returns the digest of a record that the run did not have before.
  std::optional<Digest> new_digest(std::size_t i) const {
    const std::string hash = record_hash(runs_[i], results_);
    return hash.empty() || hash == old_records_[i] ? std::nullopt : existing_digest(runs_[i], results_);
  }

  static std::string outcome_of(const Digest& digest) {
    const std::string status = status_of(digest);
    if (status == "interrupted") {
      return digest.continues ? "interrupted; this command again continues it"
                              : "interrupted; this command again repeats it";
    }
    if (status != "failed") return status;
    return "failed: " + digest.row.value(Json::json_pointer("/error/message"), std::string());
  }

  std::string loss_of(const Run& run) const {
    const auto found = tasks_.find(run.id);
    if (found == tasks_.end()) return "ended without a record; its submission has been removed";
    const SlurmTask& task = found->second.task;
    const std::string last = last_line(found->second.log);
    return fmt::format("ended without a record; Slurm says {}{}; its output is in {}{}",
                       task.state.empty() ? "nothing more of it" : task.state,
                       task.node.empty() ? "" : " on " + task.node, found->second.log,
                       last.empty() ? "" : ", and ends with: " + last);
  }

  void note(std::size_t i, const std::string& text) {
    progress_.note(fmt::format("[{}/{}] {}: {}", i + 1, runs_.size(), runs_[i].label, text));
  }

  SweepResult result() {
    SweepResult out{.digests = {}, .all_well = open_.empty()};
    for (auto& digest : digests_) {
      out.all_well = out.all_well && digest && status_of(*digest) == "completed";
      if (digest) out.digests.push_back(*std::move(digest));
    }
    return out;
  }

  const std::vector<Run>& runs_;
  const SweepOptions& sweep_;
  const SlurmOptions& options_;
  StopSignals& stop_;
  fs::path results_;
  Slurm slurm_;
  Progress progress_;
  std::string shown_counts_;
  std::map<std::string, TaskOfRun> tasks_;  // by run id
  std::set<std::size_t> open_;              // runs that have not ended
  KeptRuns digests_;
  std::vector<std::string> old_records_;  // their hashes
  std::vector<int> polls_since_end_;      // of a run's task, without a record
};

}  // namespace

SweepResult run_on_slurm(const std::vector<Run>& runs, KeptRuns kept, const SweepOptions& sweep,
                         const SlurmOptions& options, StopSignals& stop) {
  return SlurmSweep(runs, std::move(kept), sweep, options, stop).run();
}

}  // namespace thinpipe

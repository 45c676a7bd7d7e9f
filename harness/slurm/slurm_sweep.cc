// SPDX-License-Identifier: Apache-2.0
#include "harness/slurm/slurm_sweep.hh"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>

#include "common/support/standard_streams.hh"
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
          "cancels them, and this command again waits for them\n",
          open_.size(), sweep_.results.string(), sweep_.results.string());
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
    for (const std::string& job : submit_arrays(first, size, {})) {
      if (has_traces) convergence_jobs.insert(job);
    }
    std::vector<std::string> dependency;
    if (!convergence_jobs.empty())
      dependency.push_back(fmt::format("--dependency=afterany:{}", fmt::join(convergence_jobs, ":")));
    submit_arrays(second, size, dependency);
    look();
  }

  // Only workers of mode "cluster" have machines of their own. A simulation disturbs nobody.
  static TaskNeeds needs_of(const Run& run) {
    return {.nodes = run.mode == Mode::cluster ? run.workers : 1, .exclusive = run.mode != Mode::simulate};
  }

  // Submits arrays of runs with the same needs. Returns the ids of the jobs.
  std::vector<std::string> submit_arrays(const std::vector<std::size_t>& chosen, std::size_t size,
                                         const std::vector<std::string>& further) {
    std::map<TaskNeeds, std::vector<std::size_t>> alike;
    for (const std::size_t i : chosen) alike[needs_of(runs_[i])].push_back(i);
    std::vector<std::string> jobs;
    for (const auto& [needs, runs] : alike) {
      for (std::size_t begin = 0; begin < runs.size(); begin += size) {
        const std::size_t end = std::min(begin + size, runs.size());
        jobs.push_back(submit_array({runs.begin() + begin, runs.begin() + end}, needs, further));
      }
    }
    return jobs;
  }

  std::string submit_array(const std::vector<std::size_t>& chosen, const TaskNeeds& needs,
                           const std::vector<std::string>& further) {
    Submission submission = new_submission(sweep_.experiment);
    for (const std::size_t i : chosen)
      submission.runs.push_back({.id = runs_[i].id, .label = runs_[i].label});
    std::vector<std::string> options = sbatch_paths(submission, results_, fs::current_path());
    options.insert(options.end(), further.begin(), further.end());
    options.insert(options.end(), options_.sbatch_options.begin(), options_.sbatch_options.end());
    write_submission(results_, submission);
    try {
      const std::string job = slurm_.submit(batch_script(submission, options_.command, needs), options);
      print_stderr("thinpipe: job {}: {} runs\n", job, chosen.size());
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
    return fmt::format("ended without a record; Slurm says {}{}; its output is in {}",
                       task.state.empty() ? "nothing more of it" : task.state,
                       task.node.empty() ? "" : " on " + task.node, found->second.log);
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

// SPDX-License-Identifier: Apache-2.0
#include "harness/commands/run_states.hh"

#include <algorithm>
#include <fstream>
#include <map>

#include <fmt/format.h>

#include "harness/records/lock_file.hh"
#include "harness/records/record.hh"
#include "harness/run/run.hh"
#include "harness/slurm/slurm.hh"
#include "harness/slurm/submission.hh"
#include "harness/slurm/tasks_of_runs.hh"
#include "harness/terminal/progress.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

bool is_run(const fs::path& folder) {
  return fs::exists(folder / record_name) || fs::exists(folder / run_lock_name);
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  return folders;
}

bool is_experiment(const fs::path& folder) {
  return fs::is_directory(folder) &&
         (!read_submissions(folder).empty() || std::ranges::any_of(folders_in(folder), is_run));
}

// Sets what the run's record says, if it has one that can be read.
void read_record(const fs::path& file, RunState& run) {
  try {
    const std::optional<Record> record = find_record(file);
    if (!record) return;
    run.label = record->label;
    run.state = record->status;
    if (record->error) run.about = record->error->message;
  } catch (const std::exception& error) {
    run.state = "unreadable";
    run.about = error.what();
  }
}

void set_task(const TaskOfRun& of_run, RunState& run) {
  const SlurmTask& task = of_run.task;
  run.label = of_run.label;
  if (!task.job.empty()) run.job = fmt::format("{}_{}", task.job, task.index);
  if (!task.state.empty() && is_live(task)) {
    run.state = waits(task) ? "waiting" : "running";
    run.about = waits(task) ? fmt::format("job {}: {}", *run.job, task.reason)
                            : fmt::format("job {} on {}", *run.job, task.node);
  } else if (run.state.empty()) {
    run.state = "lost";
    run.about =
        fmt::format("Slurm: {}; output in {}", task.state.empty() ? "unknown" : task.state, of_run.log);
  }
}

// Adds what the run's controller has written of its progress, if it has.
void add_progress(const fs::path& file, RunState& run) {
  std::ifstream lines(file);
  std::string label;
  std::string status;
  if (!std::getline(lines, label) || !std::getline(lines, status)) return;
  run.label = label;
  run.about += ": " + status;
}

RunState state_of(const fs::path& experiment, const std::string& id, const TaskOfRun* task) {
  const fs::path folder = experiment / id;
  RunState run{.experiment = experiment.filename(), .id = id, .label = {}, .state = {}, .about = {}};
  read_record(folder / record_name, run);
  if (task != nullptr) set_task(*task, run);
  const bool is_with_slurm = run.state == "waiting" || run.state == "running";
  if (!is_with_slurm && LockFile::is_held(folder / run_lock_name)) {
    run.state = "running";
    run.about = LockFile::holder(folder / run_lock_name);
  }
  if (run.state.empty()) {
    run.state = "lost";
    run.about = "its controller ended without a record";
  }
  if (run.state == "running" || run.state == "lost") add_progress(folder / progress_file_name, run);
  return run;
}

void append(const fs::path& experiment, std::vector<RunState>& runs) {
  const std::vector<Submission> submissions = read_submissions(experiment);
  const auto tasks =
      tasks_of_runs(submissions, Slurm().tasks(job_names(submissions)), fs::absolute(experiment));
  std::map<std::string, const TaskOfRun*> ids;
  for (const auto& [id, task] : tasks) ids[id] = &task;
  for (const fs::path& folder : folders_in(experiment)) {
    if (is_run(folder)) ids.try_emplace(folder.filename(), nullptr);
  }
  for (const auto& [id, task] : ids) runs.push_back(state_of(experiment, id, task));
}

}  // namespace

std::vector<fs::path> experiment_folders(const fs::path& results) {
  if (is_experiment(results)) return {results};
  std::vector<fs::path> found;
  if (fs::is_directory(results)) found = folders_in(results);
  std::erase_if(found, [](const fs::path& folder) { return !is_experiment(folder); });
  if (found.empty()) throw InputError({results, ""}, "has no runs; name a folder that `thinpipe run` wrote");
  return found;
}

std::vector<RunState> run_states(const fs::path& results) {
  std::vector<RunState> runs;
  for (const fs::path& experiment : experiment_folders(results)) append(experiment, runs);
  return runs;
}

}  // namespace thinpipe

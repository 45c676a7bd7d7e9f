// SPDX-License-Identifier: Apache-2.0
#include "harness/slurm/tasks_of_runs.hh"

#include <utility>

#include <fmt/format.h>

namespace thinpipe {

std::map<std::string, TaskOfRun> tasks_of_runs(const std::vector<Submission>& submissions,
                                               const std::vector<SlurmTask>& tasks,
                                               const std::filesystem::path& results) {
  std::map<std::pair<std::string, std::int64_t>, const SlurmTask*> known;
  for (const SlurmTask& task : tasks) known[{task.job_name, task.index}] = &task;
  std::map<std::string, TaskOfRun> last;
  for (const Submission& submission : submissions) {
    if (!submission.prepares.empty()) continue;
    for (std::size_t i = 0; i < submission.runs.size(); ++i) {
      const auto index = static_cast<std::int64_t>(i);
      TaskOfRun of_run{.label = submission.runs[i].label,
                       .log = fmt::format("{}{}.log", log_prefix(results, submission.job_name), i),
                       .task = {.job_name = submission.job_name, .index = index}};
      if (const auto found = known.find({submission.job_name, index}); found != known.end())
        of_run.task = *found->second;
      last[submission.runs[i].id] = std::move(of_run);
    }
  }
  return last;
}

bool is_live(const std::map<std::string, TaskOfRun>& tasks, const std::string& run_id) {
  const auto found = tasks.find(run_id);
  return found != tasks.end() && !found->second.task.state.empty() && is_live(found->second.task);
}

}  // namespace thinpipe

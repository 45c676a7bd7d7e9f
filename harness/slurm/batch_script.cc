// SPDX-License-Identifier: Apache-2.0
#include "harness/slurm/batch_script.hh"

#include <fmt/format.h>

namespace thinpipe {
namespace {

// Slurm kills a job at its time limit. A run needs some seconds to end its workers and to write its record.
constexpr int warning_s = 60;

// In file names, Slurm replaces % and what follows.
std::string literal(const std::string& path) {
  std::string out;
  for (const char letter : path) out += letter == '%' ? "%%" : std::string(1, letter);
  return out;
}

}  // namespace

std::string quoted_for_shell(const std::string& word) {
  std::string out = "'";
  for (const char letter : word) out += letter == '\'' ? R"('\'')" : std::string(1, letter);
  return out + "'";
}

std::string batch_script(const Submission& submission, const std::vector<std::string>& command,
                         const TaskNeeds& needs) {
  std::string out = submission.prepares.empty()
                        ? "#!/bin/bash\n# Each task of this array executes one run.\n"
                        : "#!/bin/bash\n# Each task of this array makes what several runs need.\n";
  const auto option = [&out](const std::string& text) { out += "#SBATCH --" + text + "\n"; };
  option("job-name=" + submission.job_name);
  option(fmt::format("array=0-{}", submission.runs.size() - 1));
  option(fmt::format("nodes={}", needs.nodes));
  option("ntasks-per-node=1");
  if (needs.exclusive) option("exclusive");
  option("requeue");  // after preemption, or if the node dies
  option("open-mode=append");
  option(fmt::format("signal=B:TERM@{}", warning_s));
  out += "runs=(\n";
  for (const SubmittedRun& run : submission.runs) out += fmt::format("  {}\n", run.id);
  out += ")\nexec";
  for (const std::string& word : command) out.append(" ").append(quoted_for_shell(word));
  if (!submission.prepares.empty()) out.append(" --prepare ").append(submission.prepares);
  return out + " --run \"${runs[$SLURM_ARRAY_TASK_ID]}\"\n";
}

std::vector<std::string> sbatch_paths(const Submission& submission, const std::filesystem::path& results,
                                      const std::filesystem::path& directory) {
  const std::string log = literal(log_prefix(results, submission.job_name)) + "%a.log";
  return {"--chdir=" + directory.string(), "--output=" + log};
}

}  // namespace thinpipe

// SPDX-License-Identifier: Apache-2.0
// thinpipe cancel: cancels the jobs of Slurm that execute runs of a results folder.
#include <memory>
#include <set>
#include <string>

#include <fmt/format.h>

#include "harness/commands/command.hh"
#include "harness/commands/run_states.hh"
#include "harness/slurm/slurm.hh"
#include "harness/slurm/submission.hh"

namespace thinpipe {
namespace {

int cancel(const std::string& results) {
  const Slurm slurm;
  std::size_t runs_cancelled = 0;
  for (const std::filesystem::path& experiment : experiment_folders(results)) {
    const std::vector<Submission> submissions = read_submissions(experiment);
    std::set<std::string> preparing;
    for (const Submission& submission : submissions) {
      if (!submission.prepares.empty()) preparing.insert(submission.job_name);
    }
    std::set<std::string> live;
    for (const SlurmTask& task : slurm.tasks(job_names(submissions))) {
      if (!is_live(task)) continue;
      live.insert(task.job_name);
      if (!preparing.contains(task.job_name)) ++runs_cancelled;
    }
    slurm.cancel({live.begin(), live.end()});
  }
  fmt::print("{} runs cancelled\n", runs_cancelled);
  return 0;
}

void add_cancel(CLI::App& program, Invocation& invocation) {
  const auto results = std::make_shared<std::string>();
  CLI::App& command = *program.add_subcommand("cancel", "Cancel the runs that Slurm executes");
  command.add_option("results", *results, "Folder with the results of one or several experiments")
      ->required()
      ->type_name("RESULTS");
  command.footer(
      "Examples:\n"
      "  thinpipe cancel results/quickstart\n"
      "Cancels waiting and running tasks of the jobs that `thinpipe run --executor slurm` submitted. Ended runs keep\n"
      "their records. To stop a run on this machine, press Ctrl-C in its terminal.");
  command.callback([results, &invocation] { invocation.action = [results] { return cancel(*results); }; });
}

THINPIPE_REGISTER(Command){5, add_cancel};

}  // namespace
}  // namespace thinpipe

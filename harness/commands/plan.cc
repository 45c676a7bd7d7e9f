// SPDX-License-Identifier: Apache-2.0
// thinpipe plan: prints an experiment's runs with predicted bytes, times and memory, and whether this machine
// can carry them. Writes nothing.
#include <memory>

#include <fmt/format.h>

#include "common/support/standard_streams.hh"
#include "harness/commands/command.hh"
#include "harness/commands/options/experiment_choice.hh"
#include "harness/commands/plan_table.hh"
#include "harness/plan/run_plan.hh"

namespace thinpipe {
namespace {

struct PlanOptions {
  ExperimentChoice choice;
  bool no_measuring = false;
  bool json = false;
};

int plan(const PlanOptions& options) {
  const Experiment experiment = options.choice.load();
  const TrainerProgram trainer = TrainerProgram::find();
  const std::vector<Run> runs = plan_runs(experiment, trainer, options.choice.only);
  MeasuredCosts measured(trainer, [](const std::string& line) { print_stderr("{}\n", line); });
  const CostOf cost_of = [&](const Run& run) {
    if (options.no_measuring || !run.missing.empty() || run.runs_command())
      return std::optional<ComputeCost>();
    return measured.of(run);
  };
  const Json rows = plan_rows(runs, cost_of, this_machine());
  fmt::print("{}", options.json ? rows.dump(2) + "\n" : format_plan(rows));
  return 0;
}

void add_plan(CLI::App& program, Invocation& invocation) {
  const auto options = std::make_shared<PlanOptions>();
  CLI::App& command =
      *program.add_subcommand("plan", "Show the runs of an experiment and their predicted cost");
  options->choice.add_to(command);
  command.add_flag("--no-measuring", options->no_measuring,
                   "Skip the compute measurement (a few seconds); iteration and train times, memory and the "
                   "machine's verdict are then left out");
  command.add_flag("--json", options->json, "Print JSON");
  command.footer(
      "Examples:\n"
      "  thinpipe plan experiments/quickstart.json\n"
      "  thinpipe plan experiments/bandwidth-by-prune-ratio.json --no-measuring\n"
      "  thinpipe plan experiments/paper-fig3.json --no-measuring  # works without its GPU and data\n"
      "  thinpipe plan experiments/quickstart.json --set 'bottleneck.rate=1 Gbit/s' --json");
  command.callback([options, &invocation] { invocation.action = [options] { return plan(*options); }; });
}

THINPIPE_REGISTER(Command){2, add_plan};

}  // namespace
}  // namespace thinpipe

// thinpipe plan: prints an experiment's runs with predicted bytes, times and memory, and whether this machine
// can carry them. Writes nothing.
#include <memory>

#include <fmt/format.h>

#include "common/support/standard_streams.hh"
#include "harness/commands/command.hh"
#include "harness/commands/plan_table.hh"
#include "harness/plan/run_plan.hh"
#include "harness/schema/override_types.hh"

namespace thinpipe {
namespace {

struct PlanOptions {
  std::string experiment;
  std::vector<std::string> overrides;
  std::string only;
  bool no_measuring = false;
  bool json = false;
};

int plan(const PlanOptions& options) {
  const Experiment experiment = load_experiment(options.experiment, options.overrides, described_text());
  const TrainerProgram trainer = TrainerProgram::find();
  const std::vector<Run> runs = plan_runs(experiment, trainer, options.only);
  MeasuredCosts measured(trainer, [](const std::string& line) { print_stderr("{}\n", line); });
  const CostOf cost_of = [&](const Run& run) {
    if (options.no_measuring || !run.missing.empty() || run.runs_command())
      return std::optional<ComputeCost>();
    return std::optional(measured.of(run));
  };
  const Json rows = plan_rows(runs, cost_of, this_machine());
  fmt::print("{}", options.json ? rows.dump(2) + "\n" : format_plan(rows));
  return 0;
}

void add_plan(CLI::App& program, Invocation& invocation) {
  const auto options = std::make_shared<PlanOptions>();
  CLI::App& command =
      *program.add_subcommand("plan", "Show the runs of an experiment and their predicted cost");
  command.add_option("experiment", options->experiment, "The experiment's file")
      ->required()
      ->type_name("FILE");
  command
      .add_option("--set", options->overrides,
                  "Change the base configuration, for example workers=4; may be repeated")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--only", options->only,
                  "Only runs whose label, as a whole or on one axis, matches the pattern")
      ->type_name("GLOB");
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

// thinpipe report: the table of a folder of results.
#include "harness/report.hh"

#include <memory>
#include <optional>

#include <fmt/format.h>

#include "harness/commands/command.hh"
#include "harness/record.hh"

namespace thinpipe {
namespace {

struct Options {
  std::string folder;
  std::optional<double> target;
  bool json = false;
};

int report(const Options& options) {
  const Json rows = make_report(load_records(options.folder), options.target);
  fmt::print("{}", options.json ? rows.dump(2) + "\n" : format_report(rows));
  return 0;
}

void add(CLI::App& program, Invocation& invocation) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = *program.add_subcommand("report", "Compare recorded runs");
  command.add_option("results", options->folder, "The folder of an experiment's results, or of several")
      ->required()
      ->type_name("DIR");
  command
      .add_option("--target", options->target,
                  "Test accuracy whose time is asked for, instead of the runs' own")
      ->type_name("ACCURACY")
      ->check(CLI::Range(0.0, 1.0));
  command.add_flag("--json", options->json, "Machine-readable output");
  command.footer(
      "Examples:\n"
      "  thinpipe report results/quickstart\n"
      "  thinpipe report results/quickstart --target 0.8 --json\n"
      "Speed-ups are against the dense and the fp16 run that equal a run in all but method and pruning; "
      "\">\" marks a\n"
      "lower bound, where the baseline never reached the target. Wire bytes are those of the busiest "
      "bottleneck\n"
      "direction; wire/sent compares them with what a worker sent by formula. Times of an iteration are in "
      "ms.");
  command.callback([options, &invocation] { invocation.action = [options] { return report(*options); }; });
}

const CommandRegistration registration(3, add);

}  // namespace
}  // namespace thinpipe

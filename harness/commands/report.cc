// thinpipe report: the table of a folder of results.
#include "harness/report.hh"

#include <memory>
#include <optional>

#include <fmt/format.h>

#include "harness/commands/command.hh"
#include "harness/record.hh"
#include "harness/seed_summary.hh"

namespace thinpipe {
namespace {

struct Options {
  std::string folder;
  std::optional<std::string> target;
  bool json = false;
};

// "0.84" or "METRIC=VALUE".
Target parse_target(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string number = equals == std::string::npos ? text : text.substr(equals + 1);
  const Json value = Json::parse(number, nullptr, false);
  const Place place{"--target " + text, ""};
  if (!value.is_number())
    throw InputError(place, "must be an accuracy, as 0.84, or as bits_per_byte=2.2 or test_loss=0.5");
  return read_target(equals == std::string::npos ? value : Json{{text.substr(0, equals), value}}, place);
}

int report(const Options& options) {
  const auto target = options.target ? std::optional(parse_target(*options.target)) : std::nullopt;
  const Json rows = make_report(load_records(options.folder), target);
  const Json over_seeds = summarise_seeds(rows);
  if (options.json) {
    fmt::print("{}\n", Json{{"runs", rows}, {"over_seeds", over_seeds}}.dump(2));
  } else {
    fmt::print("{}{}", format_report(rows), format_seed_summary(over_seeds));
  }
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
                  "Test accuracy whose time is asked for, instead of the runs' own; or bits_per_byte=2.2, "
                  "test_loss=0.5")
      ->type_name("TARGET");
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
      "ms.\n"
      "Where runs differ in their seed alone, a second table has their means.");
  command.callback([options, &invocation] { invocation.action = [options] { return report(*options); }; });
}

const CommandRegistration registration(3, add);

}  // namespace
}  // namespace thinpipe

// SPDX-License-Identifier: Apache-2.0
// thinpipe compare: judges whether two sets of results agree.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/support/nearest.hh"
#include "common/support/standard_streams.hh"
#include "common/support/utf8.hh"
#include "harness/commands/command.hh"
#include "harness/commands/options/target_option.hh"
#include "harness/reports/comparison/comparison.hh"
#include "harness/reports/comparison/formats.hh"

namespace thinpipe {
namespace {

struct CompareOptions {
  std::string a;
  std::string b;
  std::vector<std::string> within;
  std::vector<std::string> metrics;
  std::optional<std::string> target;
  std::optional<std::int64_t> hold;
  std::vector<std::string> despite;
  bool json = false;
  bool markdown = false;
};

// The exit statuses of cmp and diff: callers must be able to tell a difference from a failure.
constexpr int exit_reproduced = 0;
constexpr int exit_differs = 1;
constexpr int exit_trouble = 2;

void refuse_unknown_quantity(const Place& place, const std::string& name) {
  const std::vector<std::string> names = quantity_names();
  if (std::ranges::find(names, name) != names.end()) return;
  throw InputError(place, "unknown quantity" + suggestion(name, names));
}

// "5%", "5 %" or "0.05".
double parse_tolerance(const Place& place, std::string text) {
  const bool is_percent = text.ends_with('%');
  if (is_percent) text.pop_back();
  while (text.ends_with(' ')) text.pop_back();
  const Json value = Json::parse(text, nullptr, false);
  const double share = value.is_number() ? value.get<double>() / (is_percent ? 100 : 1) : -1;
  if (share < 0 || share > 1)
    throw InputError(place,
                     "must be a share from 0 to 100 %, such as 5% or 0.05, or of one quantity: accuracy=1%");
  return share;
}

ComparisonRule parse_rule(const CompareOptions& options) {
  ComparisonRule rule;
  for (const std::string& text : options.within) {
    const Place place{"--within " + text, ""};
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      rule.tolerance = parse_tolerance(place, text);
      continue;
    }
    const std::string name = text.substr(0, equals);
    refuse_unknown_quantity(place, name);
    rule.tolerance_of[name] = parse_tolerance(place, text.substr(equals + 1));
  }
  rule.despite_network = std::ranges::find(options.despite, "network") != options.despite.end();
  rule.despite_configuration = std::ranges::find(options.despite, "configuration") != options.despite.end();
  return rule;
}

// All but the weights, which hardly anything but the same program on the same CPU reproduces.
std::vector<std::string> chosen_quantities(const CompareOptions& options) {
  for (const std::string& name : options.metrics) refuse_unknown_quantity({"--metric " + name, ""}, name);
  if (!options.metrics.empty()) return options.metrics;
  std::vector<std::string> names = quantity_names();
  std::erase(names, "weights");
  return names;
}

Report read_side(const std::string& letter, const std::string& results, const Wanted& wanted) {
  return report_of(results, wanted,
                   [&](const std::string& message) { warn_on_standard_error(letter + ": " + message); });
}

int exit_code(Verdict verdict) {
  if (verdict == Verdict::reproduced) return exit_reproduced;
  return verdict == Verdict::differs ? exit_differs : exit_trouble;
}

int compare(const CompareOptions& options) {
  if (options.json && options.markdown)
    throw InputError({"--json, --markdown", ""}, "only one of them can be written to standard output");
  const ComparisonRule rule = parse_rule(options);
  const std::vector<std::string> quantities = chosen_quantities(options);
  Wanted wanted = wanted_for_comparison();
  if (options.target) wanted.target = parse_target(*options.target);
  wanted.hold = options.hold;
  const Report a = read_side("A", options.a, wanted);
  const Report b = read_side("B", options.b, wanted);
  const Comparison comparison = thinpipe::compare(a, b, quantities, rule);
  const Compared side_a{options.a, &a};
  const Compared side_b{options.b, &b};
  if (options.json) {
    fmt::print("{}", record_text(json_comparison(comparison, side_a, side_b)));
  } else if (options.markdown) {
    fmt::print("{}", markdown_comparison(comparison, side_a, side_b));
  } else {
    fmt::print("{}", printable_lines(text_comparison(comparison, side_a, side_b)));
  }
  // Before main() does, which would report "differs".
  if (const auto failure = flush_standard_output()) throw Error("write to standard output: " + *failure);
  return exit_code(comparison.verdict);
}

// Returns 2 for failures that elsewhere end with 1, which here means "differs".
int compare_or_trouble(const CompareOptions& options) {
  try {
    return compare(options);
  } catch (const InputError&) {
    throw;
  } catch (const std::exception& error) {
    print_stderr("thinpipe: {}\n", printable_lines(error.what()));
    return exit_trouble;
  }
}

void add_compare(CLI::App& program, Invocation& invocation) {
  const auto options = std::make_shared<CompareOptions>();
  CLI::App& command = *program.add_subcommand("compare", "Judge whether two sets of results agree");
  command.add_option("a", options->a, "The results to reproduce: a folder, or a file that export wrote")
      ->required()
      ->type_name("A");
  command.add_option("b", options->b, "The results of the reproduction")->required()->type_name("B");
  command
      .add_option(
          "--within", options->within,
          "The tolerance of all quantities (default: 5%), or of one, such as accuracy=1%; can be repeated")
      ->type_name("[QUANTITY=]SHARE")
      ->allow_extra_args(false);
  command
      .add_option("--metric", options->metrics,
                  fmt::format("Compare only this quantity; can be repeated: {} (default: all but weights)",
                              fmt::join(quantity_names(), ", ")))
      ->type_name("QUANTITY")
      ->allow_extra_args(false);
  command
      .add_option(
          "--target", options->target,
          "Compare the time to this test accuracy or loss (as for report) instead of the runs' own target")
      ->type_name("TARGET");
  command
      .add_option("--hold", options->hold, "Successive evaluations that count as reaching it (as for report)")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  command
      .add_option(
          "--despite", options->despite,
          "Judge although networks were degraded or not judged (network), or although settings differ "
          "(configuration); can be repeated")
      ->check(CLI::IsMember({"network", "configuration"}))
      ->type_name("OBSTACLE")
      ->allow_extra_args(false);
  command.add_flag("--json", options->json, "Print everything as JSON instead of the tables");
  command.add_flag("--markdown", options->markdown, "Print the tables as Markdown");
  command.footer(
      "Examples:\n"
      "  thinpipe compare results/reference/quickstart results/quickstart\n"
      "  thinpipe compare theirs.jsonl results/quickstart --within 10% --within accuracy=1%\n"
      "  thinpipe compare theirs.jsonl ours.jsonl --metric time_to_target --target 0.8 --json\n"
      "  thinpipe compare before.jsonl after.jsonl --metric weights\n"
      "A quantity is reproduced if the 95 % interval of B/A lies within the tolerance, and differs if it lies\n"
      "outside. Otherwise it cannot be judged: nor can it with fewer than 3 seeds, over degraded networks, or if\n"
      "settings differ. Quantities that do not depend on chance need no interval.\n"
      "Exit status: 0 all reproduced; 1 something differs; 2 something cannot be judged, or the input is wrong.\n"
      "docs/how-to/compare.md has the whole rule.");
  command.callback(
      [options, &invocation] { invocation.action = [options] { return compare_or_trouble(*options); }; });
}

THINPIPE_REGISTER(Command){4, add_compare};

}  // namespace
}  // namespace thinpipe

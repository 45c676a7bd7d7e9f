// SPDX-License-Identifier: Apache-2.0
// thinpipe report: shows results as tables or as a page, or converts them for other programs.
#include "harness/reports/report.hh"

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "common/support/standard_streams.hh"
#include "harness/commands/command.hh"
#include "harness/commands/options/output_file.hh"
#include "harness/commands/options/target_option.hh"
#include "harness/records/record.hh"
#include "harness/reports/csv.hh"
#include "harness/reports/html.hh"
#include "harness/reports/link_history.hh"
#include "harness/reports/markdown.hh"
#include "harness/reports/tensorboard.hh"
#include "harness/reports/text.hh"
#include "harness/reports/timeline.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

struct ReportOptions {
  std::string results;
  std::optional<std::string> target;
  std::optional<std::int64_t> hold;
  std::vector<std::string> over;
  bool json = false;
  bool csv = false;
  bool markdown = false;
  std::optional<std::string> html;
  std::optional<std::string> tensorboard;
  std::optional<std::string> perfetto;
  std::string run;                   // for perfetto; empty: the first
  std::string iterations = "1..10";  // for perfetto
};

// "FIRST..LAST", counted from 1.
IterationRange parse_iterations(const std::string& text) {
  const std::size_t dots = text.find("..");
  const auto number = [&](const std::string& part) {
    const Json value = Json::parse(part, nullptr, false);
    return value.is_number_integer() && value > 0 ? value.get<std::int64_t>() : 0;
  };
  const IterationRange range =
      dots == std::string::npos ? IterationRange{}
                                : IterationRange{number(text.substr(0, dots)), number(text.substr(dots + 2))};
  if (range.first < 1 || range.second < range.first)
    throw InputError({"--iterations " + text, ""}, "must be FIRST..LAST, such as 1..10");
  return range;
}

// Returns the folder of the run with this row; the results may be the experiment's folder or the one above.
fs::path folder_of_row(const fs::path& results, const Json& row) {
  const auto id = row.at("run_id").get<std::string>();
  const fs::path inside = results / id;
  return fs::is_directory(inside) ? inside : results / row.at("experiment").get<std::string>() / id;
}

// Returns the folder of the run that the options name, or of the report's first run.
fs::path run_folder(const ReportOptions& options, const Report& report) {
  const auto found = std::ranges::find_if(
      report.runs, [&](const Json& row) { return options.run.empty() || row.at("run_id") == options.run; });
  if (found == report.runs.end())
    throw InputError({"--run " + options.run, ""}, "no run of these results has this id; --json lists them");
  return folder_of_row(options.results, *found);
}

void refuse_several_formats(const ReportOptions& options) {
  if (int{options.json} + int{options.csv} + int{options.markdown} <= 1) return;
  throw InputError({"--json, --csv, --markdown", ""},
                   "only one of them can be written to standard output; run the report once for each format");
}

// Returns the folder for the page's curves, which is used if they are many.
fs::path curves_beside(const fs::path& page) {
  return page.parent_path() / fmt::format("{}.curves", page.stem().string());
}

// Returns the page's path. Throws InputError, before any work, if the page or its curves cannot be there.
fs::path page_path(const std::string& html) {
  const fs::path path = output_file("--html", html, "report.html");
  if (const fs::path curves = curves_beside(path); fs::exists(curves) && !fs::is_directory(curves))
    throw InputError({fmt::format("--html {}", html), ""},
                     fmt::format("{}, where its curves go if they are many, is not a folder; remove it, "
                                 "or name another page",
                                 curves.string()));
  return path;
}

fs::path curves_folder(const std::string& tensorboard) {
  if (fs::exists(tensorboard) && !fs::is_directory(tensorboard))
    throw InputError({fmt::format("--tensorboard {}", tensorboard), ""},
                     "is not a folder; name a new folder or that of an earlier export");
  return tensorboard;
}

// Reads the series of the capped links of the first runs that have any. One that cannot be read is named and left out.
LinkHistories read_link_histories(const fs::path& results, const Report& report) {
  constexpr std::size_t most_runs = 50;
  LinkHistories out;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const fs::path folder = folder_of_row(results, report.runs[i]);
    if (!fs::exists(folder / "links.jsonl")) continue;
    if (out.of_runs.size() == most_runs) {
      ++out.left_out;
      continue;
    }
    try {
      if (Json history = link_history(folder); !history.is_null()) out.of_runs.emplace(i, std::move(history));
    } catch (const std::exception& error) {
      print_stderr("left out of the page: {}\n", error.what());
    }
  }
  return out;
}

// Writes the curves before the page that loads them, and then removes those of the previous page.
void write_page(const fs::path& path, const fs::path& results, const Report& report) {
  const fs::path folder = curves_beside(path);
  const Page page = html_report(report, folder.filename().string(), read_link_histories(results, report));
  std::set<std::string> names;
  if (!page.curves.empty()) fs::create_directories(folder);
  for (const CurvesFile& file : page.curves) {
    write_atomically(folder / file.name, file.text);
    names.insert(file.name);
  }
  write_atomically(path, page.html);
  if (!fs::is_directory(folder)) return;
  std::vector<fs::path> outdated;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (is_curves_file(name) && !names.contains(name)) outdated.push_back(entry.path());
  }
  for (const fs::path& file : outdated) fs::remove(file);
  if (fs::is_empty(folder)) fs::remove(folder);
}

// docs/reference/report.md describes the layout; a change that breaks readers increments the version.
constexpr int json_version = 2;

std::string json_report(Report report) {
  Json out{{"schema_version", json_version}, {"spread", spread_note(report.groups)}, {"bounds", bounds_note}};
  out["runs"] = std::move(report.runs);
  out["groups"] = std::move(report.groups);
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string for_standard_output(const ReportOptions& options, Report report) {
  if (options.json) return json_report(std::move(report));
  if (options.csv) return csv_report(report.runs);
  if (options.markdown) return markdown_report(report);
  return text_report(report);
}

int report(const ReportOptions& options) {
  refuse_several_formats(options);
  const auto target = options.target ? std::optional(parse_target(*options.target)) : std::nullopt;
  const auto page = options.html ? std::optional(page_path(*options.html)) : std::nullopt;
  const auto curves = options.tensorboard ? std::optional(curves_folder(*options.tensorboard)) : std::nullopt;
  // Before the records are read, so that wrong options are refused at once.
  const IterationRange iterations = parse_iterations(options.iterations);
  const auto trace_file = options.perfetto
                              ? std::optional(output_file("--perfetto", *options.perfetto, "trace.json"))
                              : std::nullopt;
  Report made = report_of(options.results, {.target = target,
                                            .hold = options.hold,
                                            .over = options.over,
                                            .curve = page || curves,
                                            .origin = page.has_value()});
  // On standard error, because standard output may go to a CSV or JSON file.
  if (page) {
    write_page(*page, options.results, made);
    print_stderr("wrote {}; open it in a browser\n", *options.html);
  }
  if (curves) {
    const auto written = write_tensorboard(made, *curves);
    print_stderr("wrote {} event files; view them with: tensorboard --logdir {}\n", written.size(),
                 *options.tensorboard);
  }
  if (trace_file) {
    write_atomically(*trace_file, chrome_trace(run_folder(options, made), iterations).dump() + "\n");
    print_stderr("wrote {}; open it in https://ui.perfetto.dev\n", *options.perfetto);
  }
  fmt::print("{}", for_standard_output(options, std::move(made)));
  return 0;
}

void add_report(CLI::App& program, Invocation& invocation) {
  const auto options = std::make_shared<ReportOptions>();
  CLI::App& command = *program.add_subcommand("report", "Compare recorded runs");
  command
      .add_option("results", options->results,
                  "The folder with the results of one or more experiments, or a file that export wrote")
      ->required()
      ->type_name("RESULTS");
  command
      .add_option("--target", options->target,
                  "Report the time to this test accuracy, or a loss such as test_loss=0.5, "
                  "bits_per_byte=2.2 or perplexity=40, instead of the runs' own targets")
      ->type_name("TARGET");
  command
      .add_option(
          "--hold", options->hold,
          "Count a target as reached if this many successive evaluations are at it, instead of the runs' own "
          "number; 1: the first one counts")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  command
      .add_option(
          "--over", options->over,
          "A method, by its label, as a further baseline beside dense and fp16, for --json and --csv; "
          "can be repeated")
      ->type_name("METHOD")
      ->allow_extra_args(false);
  CLI::Option* const perfetto = command.add_option(
      "--perfetto", options->perfetto,
      "Also write a timeline of some iterations of a run as a Chrome trace, for ui.perfetto.dev");
  perfetto->type_name("FILE");
  command.add_option("--run", options->run, "For --perfetto: the run's id; by default the first run")
      ->type_name("ID")
      ->needs(perfetto);
  command.add_option("--iterations", options->iterations, "For --perfetto: the first and the last iteration")
      ->type_name("FIRST..LAST")
      ->needs(perfetto)
      ->capture_default_str();
  command.add_flag("--json", options->json, "Print everything as JSON instead of the tables");
  command.add_flag("--csv", options->csv, "Print comma-separated values, one line per run, not the tables");
  command.add_flag("--markdown", options->markdown, "Print the tables as Markdown, with all columns");
  command
      .add_option("--html", options->html, "Also write a page with interactive curves that needs no network")
      ->type_name("FILE");
  command
      .add_option("--tensorboard", options->tensorboard, "Also write the curves as TensorBoard event files")
      ->type_name("DIR");
  command.footer(
      "Examples:\n"
      "  thinpipe report results/quickstart\n"
      "  thinpipe report results/quickstart --target 0.8 --json\n"
      "  thinpipe report results/against-pytorch --over DDP --json\n"
      "  thinpipe report results/quickstart --perfetto trace.json --iterations 20..25\n"
      "  thinpipe report results/quickstart/records.jsonl\n"
      "  thinpipe report results/quickstart --html report.html\n"
      "  thinpipe report results/quickstart --csv > runs.csv\n"
      "  thinpipe report results/quickstart --tensorboard /tmp/curves && tensorboard --logdir /tmp/curves\n"
      "A speed-up compares a run with the dense or fp16 run that differs only in method and pruning,\n"
      "or, if there is none, in the optimiser too;\n"
      "\"≥\" marks a lower bound: the baseline never reached the target. Wire bytes and link use are for\n"
      "the busiest bottleneck direction. \"/predicted\" is the measured over the predicted iteration time;\n"
      "compute, encode and exposed are parts of an iteration in ms. Columns without values are omitted.\n"
      "If runs differ only in their seed, a second table has their means.\n"
      "docs/reference/report.md defines every column.");
  command.callback([options, &invocation] { invocation.action = [options] { return report(*options); }; });
}

THINPIPE_REGISTER(Command){3, add_report};

}  // namespace
}  // namespace thinpipe

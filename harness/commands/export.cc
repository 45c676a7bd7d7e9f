// SPDX-License-Identifier: Apache-2.0
// thinpipe export: writes the records of results as lines of one file.
#include <algorithm>
#include <compare>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/support/standard_streams.hh"
#include "harness/commands/command.hh"
#include "harness/commands/options/output_file.hh"
#include "harness/records/record.hh"
#include "harness/reports/digest.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

struct ExportOptions {
  std::vector<std::string> results;
  std::string output;
};

// A line of the file. Lines are sorted by the first member, then by the second.
struct Line {
  std::string started_at;
  std::string run_id;
  std::string text;

  auto operator<=>(const Line&) const = default;
};

fs::path checked_output(const std::string& output) {
  if (fs::path(output).extension() != ".jsonl") {
    throw InputError(
        {fmt::format("--output {}", output), ""},
        fmt::format("must end in .jsonl, so that reports find it; for example {}", exported_records_name));
  }
  return output_file("--output", output, exported_records_name);
}

// A file has one record per run, so that readers need not choose.
void refuse_two_records_of_a_run(const std::vector<RecordPlace>& places,
                                 const std::vector<std::size_t>& counted, const std::vector<Line>& lines) {
  std::map<std::string, std::size_t> of_run;
  for (const std::size_t i : counted) {
    const auto [other, is_first] = of_run.emplace(lines[i].run_id, i);
    if (is_first) continue;
    throw InputError({places[i].name(), ""},
                     fmt::format("is another record of run {}, besides {}; export them to separate files",
                                 lines[i].run_id, places[other->second].name()));
  }
}

int export_records(const ExportOptions& options) {
  const fs::path output = checked_output(options.output);
  std::vector<RecordPlace> places;
  for (const std::string& results : options.results) {
    std::ranges::move(find_records(results), std::back_inserter(places));
  }
  std::vector<Line> lines(places.size());
  const auto counted = read_records(
      places,
      [&lines](std::size_t i, Record record) {
        std::string text = record_line(to_json(record));
        std::string run_id = record.run_id;
        // Throws if no report could be made of the record.
        lines[i] = {digest(std::move(record)).started_at, std::move(run_id), std::move(text)};
      },
      warn_on_standard_error);
  if (counted.empty()) {
    throw InputError({fmt::format("{}", fmt::join(options.results, ", ")), ""},
                     "has no records; name a folder that `thinpipe run` wrote, or its export");
  }
  refuse_two_records_of_a_run(places, counted, lines);
  std::vector<Line> written;
  for (const std::size_t i : counted) written.push_back(std::move(lines[i]));
  std::ranges::sort(written);
  AtomicFile file(output);
  for (const Line& line : written) file.write(line.text);
  file.commit();
  print_stderr("wrote {} records to {}\n", written.size(), options.output);
  return 0;
}

void add_export(CLI::App& program, Invocation& invocation) {
  const auto options = std::make_shared<ExportOptions>();
  CLI::App& command =
      *program.add_subcommand("export", "Write recorded runs to one file, to keep or pass on");
  command
      .add_option("results", options->results,
                  "Folders with the results of experiments, or files that export wrote")
      ->required()
      ->type_name("RESULTS");
  command
      .add_option("--output", options->output,
                  "The file to write or replace, *.jsonl; a folder is read through its records.jsonl")
      ->required()
      ->type_name("FILE");
  command.footer(
      "Examples:\n"
      "  thinpipe export results/quickstart --output quickstart.jsonl\n"
      "  thinpipe export results/quickstart --output results/quickstart/records.jsonl\n"
      "  thinpipe export monday.jsonl results/quickstart --output both.jsonl\n"
      "  thinpipe report quickstart.jsonl\n"
      "Each line is the record of a run (run.json) as compact JSON with sorted keys, whatever the run's status.\n"
      "Lines are in the order of the runs' start times, then of their ids: the same records give the same file.\n"
      "Records that no report can show are listed and left out. Logs, iterations.jsonl and traces are not\n"
      "exported. docs/reference/records.md describes the file.");
  command.callback(
      [options, &invocation] { invocation.action = [options] { return export_records(*options); }; });
}

THINPIPE_REGISTER(Command){4, add_export};

}  // namespace
}  // namespace thinpipe

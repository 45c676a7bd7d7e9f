// SPDX-License-Identifier: Apache-2.0
// thinpipe status: shows which runs of a results folder wait, run, and have ended, here and on a cluster.
#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/support/table.hh"
#include "common/support/utf8.hh"
#include "harness/commands/command.hh"
#include "harness/commands/run_states.hh"
#include "harness/records/record.hh"

namespace thinpipe {
namespace {

struct StatusOptions {
  std::string results;
  bool all = false;
  bool json = false;
};

Json to_json(const RunState& run) {
  return {{"experiment", run.experiment}, {"run_id", run.id},
          {"label", run.label},           {"state", run.state},
          {"about", run.about},           {"job", run.job ? Json(*run.job) : Json(nullptr)}};
}

std::string counts_of(const std::vector<RunState>& runs) {
  std::map<std::string, std::size_t> counts;
  for (const RunState& run : runs) ++counts[run.state];
  std::vector<std::string> parts;
  for (const auto& [state, count] : counts) parts.push_back(fmt::format("{} {}", count, state));
  return fmt::format("{} run{}: {}", runs.size(), runs.size() == 1 ? "" : "s", fmt::join(parts, ", "));
}

// Returns the runs as a table, whose last column is text of any length.
std::string table_of(const std::vector<RunState>& runs) {
  std::vector<std::vector<std::string>> rows;
  for (const RunState& run : runs) rows.push_back({run.label, run.id, run.experiment, run.state});
  std::istringstream lines(format_table({"run", "id", "experiment", "state"}, rows));
  std::string out;
  std::string line;
  std::getline(lines, line);
  out += line + "\n";
  for (auto run = runs.begin(); std::getline(lines, line); ++run)
    out += fmt::format("{}  {}\n", line, run->about);
  return out;
}

int status(const StatusOptions& options) {
  const std::vector<RunState> runs = run_states(options.results);
  if (options.json) {
    Json out = Json::array();
    for (const RunState& run : runs) out.push_back(to_json(run));
    fmt::print("{}", record_text(out));
    return 0;
  }
  fmt::print("{}\n", counts_of(runs));
  std::vector<RunState> listed;
  std::ranges::copy_if(runs, std::back_inserter(listed),
                       [&](const RunState& run) { return options.all || run.state != "completed"; });
  if (!listed.empty()) fmt::print("\n{}", printable_lines(table_of(listed)));
  return 0;
}

void add_status(CLI::App& program, Invocation& invocation) {
  const auto options = std::make_shared<StatusOptions>();
  CLI::App& command =
      *program.add_subcommand("status", "Show which runs wait, run and have ended, here and with Slurm");
  command.add_option("results", options->results, "Folder with the results of one or several experiments")
      ->required()
      ->type_name("RESULTS");
  command.add_flag("--all", options->all, "Also list the completed runs");
  command.add_flag("--json", options->json, "Print all runs as JSON");
  command.footer(
      "Examples:\n"
      "  thinpipe status results/quickstart\n"
      "  thinpipe status results --all\n"
      "States: waiting (submitted to Slurm), running, completed, failed, interrupted, and lost: whoever executed\n"
      "the run ended without a record, for example because the job was cancelled. `thinpipe run` repeats lost\n"
      "and interrupted runs.");
  command.callback([options, &invocation] { invocation.action = [options] { return status(*options); }; });
}

THINPIPE_REGISTER(Command){4, add_status};

}  // namespace
}  // namespace thinpipe

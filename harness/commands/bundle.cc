// SPDX-License-Identifier: Apache-2.0
// thinpipe bundle: packs results for others. The script scripts/bundle.py does it.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "common/support/child_process.hh"
#include "common/support/exception.hh"
#include "harness/commands/command.hh"
#include "harness/experiment/data_folder.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

struct BundleOptions {
  std::string results;
  std::optional<std::string> output;
  std::optional<std::string> experiment;
  bool with_logs = false;
  bool force = false;
};

int bundle(const BundleOptions& options) {
  std::vector<std::string> command = {"python3", "-B", data_folder() / "scripts" / "bundle.py"};
  if (options.output) command.push_back("--output=" + *options.output);
  if (options.experiment) command.push_back("--experiment=" + *options.experiment);
  if (options.with_logs) command.emplace_back("--with-logs");
  if (options.force) command.emplace_back("--force");
  command.insert(command.end(), {"--", options.results});
  ChildProcess script(
      {.arguments = command, .environment = {{"THINPIPE", fs::read_symlink("/proc/self/exe").string()}}});
  const ExitStatus ended = script.wait();
  if (ended.signal != 0) throw Error(fmt::format("{} ended with {}", command[2], ended.describe()));
  return ended.code;
}

void add_bundle(CLI::App& program, Invocation& invocation) {
  const auto options = std::make_shared<BundleOptions>();
  CLI::App& command = *program.add_subcommand(
      "bundle", "Pack results into one archive, with everything that others need to check or reproduce them");
  command
      .add_option("results", options->results,
                  "The folder with an experiment's results, or a file that export wrote")
      ->required()
      ->type_name("RESULTS");
  command
      .add_option("--output", options->output,
                  "The archive, *.tar.gz (default: the name of the results, in the current folder)")
      ->type_name("FILE");
  command
      .add_option(
          "--experiment", options->experiment,
          "The experiment's file (default: the shipped one with the name in the records, if there is one)")
      ->type_name("FILE");
  command.add_flag("--with-logs", options->with_logs, "Also pack the logs of the runs");
  command.add_flag("--force", options->force, "Replace an existing archive");
  command.footer(
      "Examples:\n"
      "  thinpipe bundle results/quickstart\n"
      "  thinpipe bundle results/mine --experiment my.json --with-logs --output mine.tar.gz\n"
      "  thinpipe bundle quickstart.jsonl --force\n"
      "The archive has the records, the experiment, versions, checksums, figures, and an appendix with the commands\n"
      "that repeat the runs, compare the results and draw the figures. The same input gives the same bytes.\n"
      "It needs python3. docs/how-to/artefact.md describes the files.");
  command.callback([options, &invocation] { invocation.action = [options] { return bundle(*options); }; });
}

THINPIPE_REGISTER(Command){4, add_bundle};

}  // namespace
}  // namespace thinpipe

// SPDX-License-Identifier: Apache-2.0
// thinpipe: the command line. Exit codes: 0 all well; 1 a run or check failed; 2 the user's input is wrong.
#include <algorithm>
#include <csignal>
#include <exception>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "common/support/exception.hh"
#include "common/support/nearest.hh"
#include "common/support/standard_streams.hh"
#include "common/support/utf8.hh"
#include "harness/commands/command.hh"

namespace {

// CLI11 would report a mistyped command as a missing one.
void refuse_unknown_command(const CLI::App& program, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands({})) names.push_back(command->get_name());
  if (std::ranges::find(names, argv[1]) != names.end()) return;
  throw thinpipe::InputError({fmt::format("thinpipe {}", argv[1]), ""},
                             "unknown command" + thinpipe::suggestion(argv[1], names));
}

// Paths and values end up in JSON, which must be UTF-8. Words after "--" may have any bytes.
void refuse_other_bytes_than_text(int argc, char** argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    if (thinpipe::find_invalid_utf8(argv[i])) {
      throw thinpipe::InputError({thinpipe::printable(argv[i]), ""},
                                 "is not UTF-8, so a record cannot contain it; rename the file or value");
    }
  }
}

// Returns the known option that is nearest to one that CLI11 did not expect.
std::string hint_at_option(const CLI::App& command, const CLI::Error& error) {
  const std::string_view what = error.what();
  const auto begin = what.find("--");
  const bool is_unexpected = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  if (!is_unexpected || begin == std::string_view::npos) return "";
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  const std::string_view given = what.substr(begin, what.find_first_of(" =", begin) - begin);
  const auto match = thinpipe::nearest(given, known);
  return match ? fmt::format("; did you mean {}?", *match) : "";
}

// Returns what to print about wrong arguments.
std::string failure_text(const CLI::App* program, const CLI::Error& error) {
  const std::vector<CLI::App*> chosen = program->get_subcommands();
  const CLI::App& command = chosen.empty() ? *program : *chosen.front();
  const std::string name = chosen.empty() ? "thinpipe" : "thinpipe " + command.get_name();
  return fmt::format("{0}: {1}{2}\n{0} --help has all arguments, and examples\n", name, error.what(),
                     hint_at_option(command, error));
}

int run(int argc, char** argv) {
  using namespace thinpipe;
  Invocation invocation{.arguments = {argv, argv + argc}, .action = {}};
  CLI::App program("How long does a training method take to reach an accuracy on a given network, and why?",
                   "thinpipe");
  program.require_subcommand(1);
  program.failure_message(failure_text);
  program.footer(
      "Examples:\n"
      "  thinpipe run experiments/quickstart.json\n"
      "  thinpipe plan experiments/quickstart.json\n"
      "  thinpipe report results/quickstart --target 0.8\n"
      "  thinpipe compare theirs.jsonl results/quickstart --within 5%\n"
      "  thinpipe export results/quickstart --output quickstart.jsonl\n"
      "  thinpipe bundle results/quickstart\n"
      "  thinpipe list synchronisers\n"
      "  thinpipe exec three-switch -- python3 train.py\n"
      "  thinpipe shell three-switch --host w3\n"
      "  thinpipe verify three-switch\n"
      "  thinpipe doctor\n"
      "  thinpipe schema experiment\n"
      "  thinpipe tokenize shakespeare.txt --out shakespeare");
  add_commands(program, invocation);
  try {
    refuse_other_bytes_than_text(argc, argv);
    refuse_unknown_command(program, argc, argv);
    if (argc < 2) {
      print_stderr("{}", program.help());
      return 2;
    }
    program.parse(argc, argv);
    return invocation.action();
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? 0 : 2;
  } catch (const InputError& error) {
    print_stderr("thinpipe: {}\n", printable_lines(error.what()));
    return 2;
  } catch (const std::exception& error) {
    print_stderr("thinpipe: {}\n", printable_lines(error.what()));
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGCHLD, SIG_DFL);  // a parent that ignores it passes that on, and no child could be waited for
  thinpipe::keep_standard_streams();
  return thinpipe::exit_code_with_output("thinpipe", run(argc, argv));
}

// thinpipe: the command line. Exit codes: 0 all well; 1 a run or check failed; 2 the user's input is wrong.
#include <exception>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "harness/commands/command.hh"
#include "harness/support/exception.hh"

int main(int argc, char** argv) {
  using namespace thinpipe;
  Invocation invocation{.arguments = {argv, argv + argc}, .action = {}};
  CLI::App program("How long does a training method take to reach an accuracy on a given network, and why?",
                   "thinpipe");
  program.set_version_flag("--version", "thinpipe " THINPIPE_VERSION);
  program.require_subcommand(1);
  program.footer(
      "Examples:\n"
      "  thinpipe run experiments/quickstart.json\n"
      "  thinpipe plan experiments/quickstart.json\n"
      "  thinpipe report results/quickstart --target 0.8\n"
      "  thinpipe list synchronisers\n"
      "  thinpipe shell three-switch --host w3\n"
      "  thinpipe verify three-switch\n"
      "  thinpipe doctor");
  add_commands(program, invocation);
  try {
    program.parse(argc, argv);
    return invocation.action();
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? 0 : 2;
  } catch (const InputError& error) {
    fmt::print(stderr, "thinpipe: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "thinpipe: {}\n", error.what());
    return 1;
  }
}

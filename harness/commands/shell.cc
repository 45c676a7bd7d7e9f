// SPDX-License-Identifier: Apache-2.0
// thinpipe shell: opens a shell, or runs commands, inside the hosts of a virtual network.
#include "harness/terminal/shell.hh"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <unistd.h>

#include "common/support/standard_streams.hh"
#include "harness/commands/command.hh"
#include "harness/commands/options/capture_choice.hh"
#include "harness/commands/options/command_words.hh"
#include "harness/commands/options/topology_choice.hh"
#include "harness/terminal/terminal_guard.hh"
#include "netem/kernel/sandbox.hh"
#include "netem/running_network.hh"

namespace thinpipe {
namespace {

struct ShellOptions {
  TopologyChoice topology;
  CaptureChoice capture;
  std::string run;  // the folder of a run in progress; empty: builds a network
  std::string host;
  std::vector<std::string> command;  // as parsed by CLI11
};

std::vector<std::string> shell_words(const ShellOptions& options, const std::vector<std::string>& arguments) {
  if (options.command.empty() && std::ranges::find(arguments, "--") == arguments.end()) return {};
  return command_words("thinpipe shell", options.command, arguments,
                       "thinpipe shell three-switch -- ip address");
}

void greet(const netem::HostList& list, const ShellCommand& command, bool host_was_named) {
  if (!command.arguments.empty() || ::isatty(STDIN_FILENO) == 0) return;
  print_stderr("In host {} ({}) of {}; type exit to leave.{}\n", command.host,
               list.find(command.host).address, list.network,
               host_was_named || list.hosts.size() == 1
                   ? ""
                   : fmt::format(" --host selects another: {} to {}.", list.hosts.front().name,
                                 list.hosts.back().name));
}

void tell(const netem::LinkCapture& capture) {
  print_stderr("thinpipe: captured {} frames of {} in {}{}{}\n", capture.counts.frames, capture.link,
               capture.file.filename().string(),
               capture.counts.missed == 0 ? "" : fmt::format(", and missed {}", capture.counts.missed),
               capture.problem.empty() ? "" : fmt::format("; it ended early: {}", capture.problem));
}

// Throws InputError for options that shape a network: it stands already. Without a topology, CLI11 takes the command's first word
// for one.
void check_only_enters(const ShellOptions& options, const std::vector<std::string>& arguments) {
  const auto mark = std::ranges::find(arguments, "--");
  const auto words = mark == arguments.end() ? 0 : arguments.end() - mark - 1;
  const bool names_topology = !options.topology.name.empty() && std::ssize(options.command) + 1 > words;
  const auto refuse = [](const char* option, const char* why) {
    throw InputError({option, ""},
                     fmt::format("{} with --run, which enters the network of a run; leave it out", why));
  };
  if (names_topology) refuse("TOPOLOGY", "must not be given");
  if (!options.topology.overrides.empty()) refuse("--set", "has no effect");
  if (!options.capture.links.empty()) refuse(capture_option, "works with thinpipe run, not");
}

int shell_in_run(const ShellOptions& options, const std::vector<std::string>& arguments) {
  check_only_enters(options, arguments);
  const CommandSignals signals;
  const std::filesystem::path file = std::filesystem::path(options.run) / netem::network_file_name;
  if (!std::filesystem::exists(file)) {
    throw InputError({"--run " + options.run, ""},
                     fmt::format("has no {}; give the folder of a run that emulates a network, "
                                 "RESULTS/EXPERIMENT/RUN",
                                 netem::network_file_name));
  }
  const netem::RunningNetwork network(file);
  netem::Topology named{.name = network.topology()};
  for (const netem::Host& host : network.hosts().hosts) named.hosts.push_back(host.name);
  const auto commands = parse_shell_arguments(named, options.host, shell_words(options, arguments));
  network.enter_sandbox();
  greet(network.hosts(), commands.front(), !options.host.empty());
  return run_shell(network.hosts(), commands, signals);
}

int shell(const ShellOptions& options, const std::vector<std::string>& arguments) {
  if (!options.run.empty()) return shell_in_run(options, arguments);
  if (options.topology.name.empty())
    throw InputError({"TOPOLOGY", ""}, "is missing; or enter a run with --run FOLDER");
  std::optional<CommandSignals> signals;
  if (netem::inside_sandbox()) signals.emplace();  // first of all, so that no signal is lost
  const netem::Topology topology = options.topology.load();
  netem::check_links(options.capture.options(), topology, {capture_option, ""});
  const auto commands = parse_shell_arguments(topology, options.host, shell_words(options, arguments));
  if (!signals) {
    const TerminalGuard kept;
    return netem::run_in_sandbox(arguments, netem::Terminal::shared);
  }
  const netem::Network network(topology, {}, options.topology.idle_cores);
  greet(network.host_list(), commands.front(), !options.host.empty());
  netem::LinkCaptures captures(network, options.capture.options(), ".");
  const int code = run_shell(network.host_list(), commands, *signals);
  for (const netem::LinkCapture& capture : captures.end()) tell(capture);
  return code;
}

void add_shell(CLI::App& program, Invocation& invocation) {
  const auto options = std::make_shared<ShellOptions>();
  CLI::App& command =
      *program.add_subcommand("shell", "Open a shell, or run commands, inside hosts of a virtual network");
  options->topology.add_to(command);
  command.get_option("topology")->required(false);
  command.add_option("--host", options->host, "The host to enter; by default the topology's first")
      ->type_name("HOST");
  command
      .add_option("--run", options->run,
                  "Enter the network of a run in progress instead: its folder, RESULTS/EXPERIMENT/RUN")
      ->type_name("DIR")
      ->excludes(command.get_option("--idle-cores"));
  options->capture.add_to(command, "LINK.pcap in the current folder");
  command
      .add_option(
          "command", options->command,
          "After \"--\": the command to run instead of a shell; append \"--and --host HOST -- COMMAND...\" "
          "to run a command in another host")
      ->type_name("COMMAND...");
  command.footer(
      "Examples:\n"
      "  thinpipe shell three-switch\n"
      "  thinpipe shell three-switch --host w3 -- ping -c 3 w0\n"
      "  thinpipe shell three-switch --host w0 -- iperf3 -s --and --host w7 -- iperf3 -c w0\n"
      "  thinpipe shell --run results/quickstart/087c1963a11f0433 --host w3 -- ss -ti\n"
      "  thinpipe shell three-switch --capture w0-left -- ping -c 3 w7\n"
      "  thinpipe shell my-network.json --set 'bottleneck.rate=1 Gbit/s' -- sh -c 'ip route; cat "
      "/etc/hosts'\n"
      "Inside, you are user 0, hosts resolve by name, and only the virtual network can be reached.\n"
      "The last of several commands has the terminal. Each starts when the one before it has opened a\n"
      "socket, ended, or run for a second. When the last ends, the others are stopped. Their output goes\n"
      "to standard error, after the host's name.\n"
      "Exit codes: that of the first command to fail; 0 if none fails; 128 + n after signal n; 127 if a\n"
      "command cannot be started; 1 if the network cannot be built; 2 wrong input.");
  command.callback([options, &invocation] {
    invocation.action = [options, &invocation] { return shell(*options, invocation.arguments); };
  });
}

THINPIPE_REGISTER(Command){6, add_shell};

}  // namespace
}  // namespace thinpipe

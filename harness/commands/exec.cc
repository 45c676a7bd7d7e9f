// SPDX-License-Identifier: Apache-2.0
// thinpipe exec: runs a command written for torchrun once in every host of a virtual network.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "common/support/atomic_file.hh"
#include "common/support/json_object.hh"
#include "common/support/standard_streams.hh"
#include "harness/commands/command.hh"
#include "harness/commands/exec_report.hh"
#include "harness/commands/options/command_words.hh"
#include "harness/commands/options/output_file.hh"
#include "harness/commands/options/topology_choice.hh"
#include "harness/executors/launch_environment.hh"
#include "harness/machine/network_threads.hh"
#include "harness/run/network/live_network.hh"
#include "harness/terminal/ranks.hh"
#include "netem/kernel/sandbox.hh"

namespace thinpipe {
namespace {

constexpr const char* default_grace = "30 s";  // torchrun's

struct ExecOptions {
  TopologyChoice topology;
  std::string json;
  std::string grace = default_grace;
  bool normal_priority = false;
  std::vector<std::string> command;  // as parsed by CLI11
};

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double read_grace(const std::string& text) {
  constexpr double max_grace_s = 365.0 * 24 * 3600;  // sums with the clock stay far from its end
  double grace_s = 0;
  read_value(text, {"--grace " + text, ""},
             {.quantity = Quantity::duration, .at_least = 0, .at_most = max_grace_s}, grace_s);
  return grace_s;
}

LaunchPlace place_of(std::size_t rank, const std::vector<netem::Host>& hosts) {
  return {.rank = static_cast<std::int64_t>(rank),
          .world_size = static_cast<std::int64_t>(hosts.size()),
          .master_address = hosts.front().address,
          .interface = netem::host_interface,
          .gpus = visible_gpus(),
          .user_limits_threads = std::getenv("OMP_NUM_THREADS") != nullptr};
}

RanksOutcome run(LiveNetwork& network, const std::vector<std::string>& command, double grace_s,
                 bool normal_priority, const CommandSignals& signals) {
  const std::vector<netem::Host>& hosts = network.network().hosts();
  const RanksOptions options{
      .arguments = command,
      .environment = [&hosts](std::size_t rank) { return launch_environment(place_of(rank, hosts)); },
      .lowest_priority = !normal_priority && hosts.size() > std::thread::hardware_concurrency(),
      .grace = std::chrono::duration<double>(grace_s),
      .tick_period = network.tick_period().value(),
      .tick = [&network](double late_s) { network.tick(now_s(), late_s); }};
  network.begin(now_s());
  RanksOutcome outcome = run_ranks(network.network(), options, signals);
  network.end();
  return outcome;
}

int exec(const ExecOptions& options, const std::vector<std::string>& arguments) {
  std::optional<CommandSignals> signals;
  if (netem::inside_sandbox()) signals.emplace();  // first of all, so that no signal is lost
  const netem::Topology topology = options.topology.load();
  const auto command = command_words("thinpipe exec", options.command, arguments,
                                     "thinpipe exec three-switch -- python3 train.py");
  const double grace_s = read_grace(options.grace);
  if (!options.json.empty()) output_file("--json", options.json, "exec.json");
  if (!signals) {
    pass_network_threads_to_sandbox();
    return netem::run_in_sandbox(arguments);
  }

  const netem::Schedule no_changes;
  LiveNetwork network(topology, no_changes, options.topology.idle_cores, now_s());
  const RanksOutcome outcome = run(network, command, grace_s, options.normal_priority, *signals);
  const bool any_ran = std::ranges::any_of(outcome.ends, [](const auto& end) { return end.has_value(); });
  if (!any_ran) return outcome.exit_code;
  const Json report = exec_report(network, command, outcome);
  print_stderr("{}", format_exec_report(report));
  if (options.json.empty()) return outcome.exit_code;
  try {
    write_atomically(output_file("--json", options.json, "exec.json"), report.dump(2) + "\n");
  } catch (const std::exception& error) {
    print_stderr("thinpipe: {}\n", error.what());
    return outcome.exit_code == 0 ? 1 : outcome.exit_code;
  }
  return outcome.exit_code;
}

void add_exec(CLI::App& program, Invocation& invocation) {
  const auto options = std::make_shared<ExecOptions>();
  CLI::App& command =
      *program.add_subcommand("exec", "Run a script written for torchrun in every host of a virtual network");
  options->topology.add_to(command);
  command.add_option("--json", options->json, "Also write the final report to this file, as JSON")
      ->type_name("FILE");
  command
      .add_option("--grace", options->grace,
                  "Time that ranks have to end after a signal, or after another rank has failed, before they "
                  "are killed")
      ->type_name("DURATION")
      ->capture_default_str();
  command.add_flag(
      "--normal-priority", options->normal_priority,
      "Never give ranks the lowest CPU priority. They have it if there are more ranks than cores, so "
      "that the emulated network comes first");
  command
      .add_option("command", options->command,
                  "After \"--\": the command that every host runs, with the environment that torchrun sets")
      ->type_name("COMMAND...");
  command.footer(
      "Examples:\n"
      "  thinpipe exec three-switch -- python3 train.py --lr 0.1\n"
      "  thinpipe exec three-switch --set 'bottleneck.rate=200 Mbit/s' --json traffic.json -- python3 train.py\n"
      "  thinpipe exec three-switch -- sh -c 'python3 train.py > log-$RANK.txt'\n"
      "Each host is a machine of its own with one rank, in the topology's order: RANK, WORLD_SIZE,\n"
      "LOCAL_RANK=0, LOCAL_WORLD_SIZE=1, MASTER_ADDR, MASTER_PORT and the other variables of torchrun are\n"
      "set; Gloo, NCCL and TensorPipe use the emulated network only; each rank sees one GPU if there are\n"
      "any. Each line of output appears after its host's name. The last lines, on standard error, are the\n"
      "traffic of every capped link and whether the network behaved as specified. See docs/tutorials/your-script.md.\n"
      "Exit codes: 0 if all ranks succeed, otherwise that of the first rank to fail, after which the others\n"
      "are ended; 128 + n if signal n ended it, or ended this program; 127 if the command cannot be\n"
      "started; 1 if the network cannot be built; 2 wrong input.");
  command.callback([options, &invocation] {
    invocation.action = [options, &invocation] { return exec(*options, invocation.arguments); };
  });
}

THINPIPE_REGISTER(Command){6, add_exec};

}  // namespace
}  // namespace thinpipe

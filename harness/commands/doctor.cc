// SPDX-License-Identifier: Apache-2.0
// thinpipe doctor: checks what this machine can run, and prints how to install missing parts.
#include "harness/machine/doctor.hh"

#include <memory>

#include <fmt/format.h>

#include "common/support/child_process.hh"
#include "harness/commands/command.hh"
#include "harness/commands/options/topology_choice.hh"
#include "harness/machine/shared_folder.hh"
#include "harness/records/lock_file.hh"
#include "netem/kernel/sandbox.hh"

namespace thinpipe {
namespace {

struct DoctorOptions {
  TopologyChoice topology{.name = "three-switch"};
  std::string results = "results";
  bool json = false;
  bool in_sandbox = false;
};

// Runs the checks that need a sandbox, in a second process of this program. Prints the findings as JSON.
int examine_in_sandbox(const DoctorOptions& options, const std::vector<std::string>& arguments) {
  try {
    if (!netem::inside_sandbox()) return netem::run_in_sandbox(arguments);
    const auto findings = examine_network(options.topology.load(), options.topology.idle_cores);
    fmt::print("{}\n", to_json(findings).dump());
  } catch (const InputError&) {
    throw;
  } catch (const std::exception& error) {
    fmt::print("{}\n", to_json(std::vector{no_sandbox(error.what())}).dump());
  }
  return 0;
}

std::vector<Finding> network_findings(const DoctorOptions& options) {
  std::vector<std::string> arguments = {"/proc/self/exe", "doctor", options.topology.name, "--in-sandbox"};
  for (const std::string& assignment : options.topology.overrides) {
    arguments.insert(arguments.end(), {"--set", assignment});
  }
  if (options.topology.idle_cores != netem::IdleCores::as_needed) {
    const bool awake = options.topology.idle_cores == netem::IdleCores::kept_awake;
    arguments.insert(arguments.end(), {"--idle-cores", awake ? "awake" : "may-sleep"});
  }
  const Output output = run_program(arguments);
  const Json answer = Json::parse(output.text, nullptr, false);
  if (!output.status.ok() || answer.is_discarded()) {
    return {no_sandbox("the process that checks it ended with " + output.status.describe())};
  }
  return findings_from_json(answer);
}

int doctor(const DoctorOptions& options, const std::vector<std::string>& arguments) {
  if (options.in_sandbox) return examine_in_sandbox(options, arguments);
  options.topology.load();  // refuses wrong input before any check
  std::vector<Finding> findings = network_findings(options);
  findings.push_back(examine_cgroups("/proc"));
  findings.push_back(examine_shared_folder(options.results, needs_leases));
  std::ranges::move(examine_trainer(), std::back_inserter(findings));
  fmt::print("{}", options.json ? to_json(findings).dump(2) + "\n" : format_findings(findings));
  return ready(findings) ? 0 : 1;
}

void add_doctor(CLI::App& program, Invocation& invocation) {
  const auto options = std::make_shared<DoctorOptions>();
  CLI::App& command =
      *program.add_subcommand("doctor", "Check what this machine can run, and how to install missing parts");
  options->topology.add_to(command);
  command.add_option("--results", options->results, "The folder for results, whose locks are tried")
      ->type_name("DIR")
      ->capture_default_str();
  command.add_flag("--json", options->json, "Print JSON");
  command.add_flag("--in-sandbox", options->in_sandbox)->group("");  // set when it starts itself
  command.footer(
      "Examples:\n"
      "  thinpipe doctor\n"
      "  thinpipe doctor three-switch --set 'bottleneck.rate=1 Gbit/s'  # can this machine fill these caps?\n"
      "  thinpipe doctor --results /shared/results  # can several machines use it?\n"
      "  thinpipe doctor --json\n"
      "Tries everything in a temporary sandbox, which takes about three seconds.\n"
      "Exit codes: 0 the machine can carry live runs; 1 something that they need is missing; 2 wrong input.");
  command.callback([options, &invocation] {
    invocation.action = [options, &invocation] { return doctor(*options, invocation.arguments); };
  });
}

THINPIPE_REGISTER(Command){8, add_doctor};

}  // namespace
}  // namespace thinpipe

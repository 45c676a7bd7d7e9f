// SPDX-License-Identifier: Apache-2.0
// thinpipe verify: builds a topology and measures whether its links behave as specified.
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "common/support/standard_streams.hh"
#include "common/support/table.hh"
#include "harness/commands/command.hh"
#include "harness/commands/options/topology_choice.hh"
#include "harness/records/provenance.hh"
#include "netem/fidelity/verification.hh"
#include "netem/kernel/sandbox.hh"
#include "netem/topology/topology_format.hh"

namespace thinpipe {
namespace {

struct VerifyOptions {
  TopologyChoice topology;
  bool json = false;
  bool quick = false;
};

std::string print(const std::optional<double>& value, const std::string& unit) {
  if (!value) return "-";
  if (unit == "bit/s") return fmt::format("{:.3f} Mbit/s", *value / 1e6);
  if (unit == "s") return fmt::format("{:.3f} ms", 1e3 * *value);
  return fmt::format("{:.5g} {}", *value, unit);
}

std::string format(const std::vector<netem::Measurement>& measurements) {
  std::vector<std::vector<std::string>> rows;
  for (const netem::Measurement& one : measurements) {
    rows.push_back({one.subject + "  " + one.what, print(one.asked, one.unit), print(one.measured, one.unit),
                    one.note, one.rule, one.ok ? "ok" : "OFF"});
  }
  return format_table({"quantity", "specified", "measured", "", "rule", "verdict"}, rows) +
         (netem::all_well(measurements) ? "The network behaves as specified.\n"
                                        : "The network deviates in the rows marked OFF.\n");
}

int verify(const VerifyOptions& options, const std::vector<std::string>& arguments) {
  const netem::Topology topology = options.topology.load();
  if (!netem::inside_sandbox()) return netem::run_in_sandbox(arguments);
  const netem::Network network(topology, {}, options.topology.idle_cores);
  const bool watched = ::isatty(STDERR_FILENO) != 0;
  const auto measurements =
      netem::verify(network, options.quick ? netem::VerificationEffort::quick() : netem::VerificationEffort{},
                    [watched](const std::string& subject, const std::string& what) {
                      if (watched) print_stderr("\r\033[Kmeasuring {}: {}", subject, what);
                    });
  if (watched) print_stderr("\r\033[K");
  if (options.json) {
    Json out = to_json(measurements);
    out["topology"] = to_json(topology);
    out["idle_cores"] = {{"kept_awake", network.keeps_cores_awake()}};
    out["machine"] = describe_program_and_machine();
    fmt::print("{}\n", out.dump(2));
  } else {
    fmt::print("{}", format(measurements));
  }
  return netem::all_well(measurements) ? 0 : 1;
}

void add_verify(CLI::App& program, Invocation& invocation) {
  const auto options = std::make_shared<VerifyOptions>();
  CLI::App& command =
      *program.add_subcommand("verify", "Build a topology and measure whether its links behave as specified");
  options->topology.add_to(command);
  command.add_flag("--quick", options->quick,
                   "Take fewer and shorter measurements: a fifth of the time, but less certain");
  command.add_flag("--json", options->json, "Print JSON");
  command.footer(
      "Examples:\n"
      "  thinpipe verify three-switch\n"
      "  thinpipe verify three-switch --set 'bottleneck.rate=1 Gbit/s' --json\n"
      "  thinpipe verify my-network.json\n"
      "Takes about 25 seconds per direction of a capped link, 5 with --quick. Other load on the machine\n"
      "spoils the measurements. Goodput is compared with the cap x 1448/1514, TCP's upper bound.\n"
      "Exit codes: 0 all links behave as specified; 1 a link deviates, or the network cannot be built;\n"
      "2 wrong input.");
  command.callback([options, &invocation] {
    invocation.action = [options, &invocation] { return verify(*options, invocation.arguments); };
  });
}

THINPIPE_REGISTER(Command){7, add_verify};

}  // namespace
}  // namespace thinpipe

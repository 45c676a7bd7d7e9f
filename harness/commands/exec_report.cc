// SPDX-License-Identifier: Apache-2.0
#include "harness/commands/exec_report.hh"

#include <fmt/format.h>

#include "common/support/readable.hh"
#include "common/support/table.hh"
#include "common/support/units.hh"
#include "common/support/utf8.hh"
#include "harness/records/provenance.hh"
#include "harness/terminal/host_command.hh"
#include "netem/topology/topology_format.hh"

namespace thinpipe {
namespace {

Json describe_ranks(const netem::Network& network, const RanksOutcome& outcome) {
  Json out = Json::array();
  for (std::size_t rank = 0; rank < outcome.ends.size(); ++rank) {
    const auto& end = outcome.ends[rank];
    out.push_back({{"rank", rank},
                   {"host", network.hosts()[rank].name},
                   {"exit_code", end ? Json(exit_code(*end)) : Json(nullptr)},
                   {"failed_first", outcome.first_failed == rank}});
  }
  return out;
}

// Returns null for a number that is missing or was not measured.
Json number_at(const auto& numbers, const std::string& direction) {
  const auto found = numbers.find(direction);
  return found == numbers.end() || !found->second ? Json(nullptr) : Json(*found->second);
}

Json describe_traffic(const LiveNetwork& network) {
  const auto bytes = network.wire_bytes();
  const auto utilisation = network.utilisation(network.measured_s());
  Json out = Json::array();
  for (const netem::ShapedDirection& direction : network.network().shaping()) {
    out.push_back({{"link", direction.name},
                   {"rate_bit_per_s", direction.asked.rate_bit_per_s},
                   {"wire_bytes", number_at(bytes, direction.name)},
                   {"utilisation", number_at(utilisation, direction.name)}});
  }
  return out;
}

std::string show(const Json& value) {
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string format_traffic(const Json& report) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& direction : report.at("traffic")) {
    const Json& bytes = direction.at("wire_bytes");
    const Json& utilisation = direction.at("utilisation");
    rows.push_back({direction.at("link"),
                    format_quantity(Quantity::rate, direction.at("rate_bit_per_s").get<double>()),
                    bytes.is_null() ? "-" : format_bytes(bytes.get<double>()),
                    utilisation.is_null() ? "-" : fmt::format("{:.1f} %", 100 * utilisation.get<double>())});
  }
  if (rows.empty()) return "Traffic is counted on capped links only; this topology has none.\n";
  return format_table({"link", "cap", "bytes on the wire", "mean utilisation"}, rows);
}

std::string format_fidelity(const Json& fidelity) {
  std::vector<std::vector<std::string>> failed;
  for (const Json& check : fidelity.at("checks")) {
    if (check.at("ok").get<bool>()) continue;
    failed.push_back({check.at("name"), show(check.at("specified")), show(check.at("measured")),
                      check.value("note", std::string())});
  }
  if (fidelity.at("verdict") == "not judged") {
    return fmt::format(
        "Whether the network behaved as specified is not known (not judged): no traffic filled {} of its {} capped "
        "directions, and nor could a probe.\n",
        fidelity.at("directions").get<int>() - fidelity.at("judged_directions").get<int>(),
        fidelity.at("directions").get<int>());
  }
  if (failed.empty()) return "The network behaved as specified (faithful).\n";
  return "The network deviated from its specification (degraded):\n" +
         format_table({"check", "specified", "measured", ""}, failed);
}

}  // namespace

Json exec_report(LiveNetwork& network, const std::vector<std::string>& command, const RanksOutcome& outcome) {
  Json words = Json::array();
  for (const std::string& word : command) words.push_back(find_invalid_utf8(word) ? printable(word) : word);
  return {{"topology", netem::to_json(network.network().topology())},
          {"command", std::move(words)},
          {"exit_code", outcome.exit_code},
          {"ranks", describe_ranks(network.network(), outcome)},
          {"duration_s", network.measured_s()},
          {"traffic", describe_traffic(network)},
          {"connections", network.connections()},
          {"fidelity", network.fidelity(outcome.exit_code == 0)},
          {"idle_cores", network.idle_cores()},
          {"cpu_pressure", network.cpu_pressure()},
          {"machine", describe_program_and_machine()}};
}

std::string format_exec_report(const Json& report) {
  return fmt::format("\n{}, from the first rank's start to the last one's end:\n{}{}",
                     format_duration(report.at("duration_s").get<double>()), format_traffic(report),
                     format_fidelity(report.at("fidelity")));
}

}  // namespace thinpipe

// SPDX-License-Identifier: Apache-2.0
#include "harness/run/script/script_warnings.hh"

#include <set>

#include <fmt/format.h>

#include "common/support/readable.hh"
#include "netem/topology/shortest_paths.hh"

namespace thinpipe {
namespace {

// Returns the names of the directions of the links between rank 0 and the other workers.
std::set<std::string> directions_of_rank_0(const netem::Topology& topology, std::int64_t workers) {
  const netem::ShortestPaths paths(topology);
  std::set<std::string> names;
  for (std::int64_t rank = 1; rank < workers; ++rank) {
    for (const netem::DirectedLink& each : paths.path(0, static_cast<std::size_t>(rank))) {
      const netem::Link& link = topology.links[each.link];
      names.insert(netem::direction_name(link.a, link.b));
      names.insert(netem::direction_name(link.b, link.a));
    }
  }
  return names;
}

}  // namespace

std::optional<std::string> warn_of_bypass(const netem::Topology& topology, std::int64_t workers,
                                          const WireBytes& wire_bytes, std::int64_t payload_bytes) {
  if (!topology.is_emulated() || payload_bytes == 0) return std::nullopt;
  bool is_counted = false;
  double carried_bytes = 0;
  for (const std::string& name : directions_of_rank_0(topology, workers)) {
    const auto bytes = wire_bytes.find(name);
    if (bytes == wire_bytes.end() || !bytes->second) continue;
    is_counted = true;
    carried_bytes += static_cast<double>(*bytes->second);
  }
  if (!is_counted || carried_bytes >= static_cast<double>(payload_bytes)) return std::nullopt;
  return fmt::format(
      "rank 0 reported a payload of {}, but the links between it and the other workers carried only {}: "
      "traffic bypassed the network, so times are not those of its caps",
      format_bytes(static_cast<double>(payload_bytes)), format_bytes(carried_bytes));
}

std::vector<std::string> script_warnings(const Run& run, const ScriptProgress& progress,
                                         const WireBytes& wire_bytes) {
  std::vector<std::string> warnings;
  if (auto bypass =
          warn_of_bypass(run.setting->topology, run.workers, wire_bytes, progress.payload_bytes())) {
    warnings.push_back(*std::move(bypass));
  }
  for (const std::string& key : progress.unmatched_patterns())
    warnings.push_back(fmt::format("no line of rank 0's output (worker-0.log) matched curve.{}", key));
  if (!run.training->config.at("targets").empty() && !progress.has_curve())
    warnings.emplace_back("the script reported no test accuracy or loss, so no target can be reached");
  return warnings;
}

}  // namespace thinpipe

// SPDX-License-Identifier: Apache-2.0
#include "netem/cross_traffic/cross_flow.hh"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/support/nearest.hh"

namespace thinpipe::netem {
namespace {

void check_flow(const CrossFlow& flow, const Place& place, const Topology& topology) {
  for (const auto& [key, host] : {std::pair("from", &flow.from), std::pair("to", &flow.to)}) {
    if (std::ranges::find(topology.hosts, *host) != topology.hosts.end()) continue;
    throw InputError(place / key, fmt::format("the topology \"{}\" has no host \"{}\"{}", topology.name,
                                              *host, suggestion(*host, topology.hosts)));
  }
  if (flow.from == flow.to) {
    throw InputError(place / "to", "is the host that sends; a flow needs two hosts, and links between them");
  }
  if (flow.on_s.has_value() != flow.off_s.has_value()) {
    throw InputError(place, R"(needs both "on" and "off", or neither for a flow that never pauses)");
  }
}

}  // namespace

double CrossFlow::sending_s(double elapsed_s) const {
  if (!on_s) return elapsed_s;
  const double period_s = *on_s + *off_s;
  const double periods = std::floor(elapsed_s / period_s);
  return periods * *on_s + std::min(elapsed_s - periods * period_s, *on_s);
}

bool CrossFlow::is_on(double elapsed_s) const {
  return !on_s || std::fmod(elapsed_s, *on_s + *off_s) < *on_s;
}

void check_cross_flows(const std::vector<CrossFlow>& flows, const Place& place, const Topology& topology) {
  if (!flows.empty() && !topology.is_emulated()) {
    throw InputError(place, "needs a network with links, but the loopback topology has none");
  }
  for (std::size_t i = 0; i < flows.size(); ++i) check_flow(flows[i], place / i, topology);
}

}  // namespace thinpipe::netem

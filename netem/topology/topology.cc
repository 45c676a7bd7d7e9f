// SPDX-License-Identifier: Apache-2.0
#include "netem/topology/topology.hh"

#include <algorithm>

#include <fmt/format.h>

namespace thinpipe::netem {

const char* name_of(TopologyKind kind) {
  switch (kind) {
    case TopologyKind::network:
      return "network";
    case TopologyKind::loopback:
      return "loopback";
    case TopologyKind::cluster:
      return "cluster";
  }
  return "network";
}

const char* name_of(Queueing queueing) {
  switch (queueing) {
    case Queueing::fifo:
      return "fifo";
    case Queueing::fair:
      return "fair";
    case Queueing::codel:
      return "codel";
    case Queueing::fq_codel:
      return "fq_codel";
    case Queueing::red:
      return "red";
  }
  return "fifo";
}

std::vector<std::string> queueing_names() {
  std::vector<std::string> out;
  out.reserve(queueings.size());
  for (const Queueing each : queueings) out.emplace_back(name_of(each));
  return out;
}

Queueing queueing_of(std::string_view name) {
  return *std::ranges::find_if(queueings, [name](Queueing each) { return name == name_of(each); });
}

bool has_ecn(const Topology& topology) {
  return std::ranges::any_of(topology.links,
                             [](const Link& link) { return link.forward.ecn || link.backward.ecn; });
}

std::vector<std::string> congestion_controls(const Topology& topology) {
  std::vector<std::string> out;
  for (const std::string& host : topology.hosts) {
    const auto other = topology.other_congestion_controls.find(host);
    out.push_back(other == topology.other_congestion_controls.end() ? topology.congestion_control
                                                                    : other->second);
  }
  return out;
}

std::string describe_congestion_controls(const Topology& topology, const std::vector<std::string>& held) {
  if (held.empty()) return "";
  if (std::ranges::count(held, held.front()) == std::ssize(held)) return held.front();
  std::string out = topology.congestion_control;
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (held[i] != topology.congestion_control) out += fmt::format(", {}: {}", topology.hosts[i], held[i]);
  }
  return out;
}

}  // namespace thinpipe::netem

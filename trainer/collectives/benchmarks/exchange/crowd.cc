// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/benchmarks/exchange/crowd.hh"

#include <algorithm>
#include <utility>

namespace thinpipe {

netem::Topology crowded(const netem::Topology& topology, int times) {
  netem::Topology out = topology;
  out.hosts.clear();
  out.links.clear();
  const auto name = [](std::size_t host) { return "w" + std::to_string(host); };
  // Returns the first of the hosts that replace a host.
  const auto first_of = [&](const std::string& node) {
    const auto at =
        static_cast<std::size_t>(std::ranges::find(topology.hosts, node) - topology.hosts.begin());
    return at * static_cast<std::size_t>(times);
  };
  for (std::size_t host = 0; host < topology.hosts.size() * static_cast<std::size_t>(times); ++host) {
    out.hosts.push_back(name(host));
  }
  for (const netem::Link& link : topology.links) {
    std::string netem::Link::*end = nullptr;
    if (std::ranges::find(topology.hosts, link.a) != topology.hosts.end()) end = &netem::Link::a;
    if (std::ranges::find(topology.hosts, link.b) != topology.hosts.end()) end = &netem::Link::b;
    if (end == nullptr) {
      out.links.push_back(link);
      continue;
    }
    for (std::size_t i = 0; std::cmp_less(i, times); ++i) {
      netem::Link& copy = out.links.emplace_back(link);
      copy.*end = name(first_of(link.*end) + i);
    }
  }
  return out;
}

}  // namespace thinpipe

#include "netem/paths.hh"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>

namespace thinpipe::netem {
namespace {

// By which hop each node is reached from `start` over the fewest links that may be crossed.
std::map<std::string, Hop> explore(const Topology& topology, const std::string& start,
                                   const std::function<bool(const Link&)>& may_cross) {
  std::map<std::string, std::vector<Hop>> hops_from;
  for (const Link& link : topology.links) {
    if (!may_cross(link)) continue;
    hops_from[link.a].push_back({&link, link.a, link.b});
    hops_from[link.b].push_back({&link, link.b, link.a});
  }
  std::map<std::string, Hop> reached_by;
  std::queue<std::string> waiting({start});
  for (; !waiting.empty(); waiting.pop()) {
    for (const Hop& hop : hops_from[waiting.front()]) {
      if (hop.to != start && reached_by.emplace(hop.to, hop).second) waiting.push(hop.to);
    }
  }
  return reached_by;
}

// One host of each switch, for the others there see the same, and the ends of the hop that are hosts.
std::vector<std::string> candidates(const Topology& topology, const Hop& hop) {
  std::map<std::string, std::string> neighbour;
  for (const Link& link : topology.links) {
    neighbour.emplace(link.a, link.b);
    neighbour.emplace(link.b, link.a);
  }
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const std::string& host : topology.hosts) {
    if (host == hop.from || host == hop.to || seen.insert(neighbour[host]).second) out.push_back(host);
  }
  return out;
}

}  // namespace

std::vector<Hop> capped_hops(const Topology& topology) {
  std::vector<Hop> out;
  for (const Link& link : topology.links) {
    for (const Hop& hop : {Hop{&link, link.a, link.b}, Hop{&link, link.b, link.a}}) {
      if (hop.rate_bit_per_s()) out.push_back(hop);
    }
  }
  return out;
}

std::vector<Hop> path_between(const Topology& topology, const std::string& from, const std::string& to) {
  const auto reached_by = explore(topology, from, [](const Link&) { return true; });
  std::vector<Hop> path;
  for (std::string node = to; node != from && reached_by.contains(node); node = path.back().from) {
    path.push_back(reached_by.at(node));
  }
  std::ranges::reverse(path);
  return path;
}

std::optional<Hop> narrowest(const std::vector<Hop>& path) {
  std::optional<Hop> out;
  for (const Hop& hop : path) {
    if (hop.rate_bit_per_s() && (!out || *hop.rate_bit_per_s() < *out->rate_bit_per_s())) out = hop;
  }
  return out;
}

std::optional<std::pair<std::string, std::string>> hosts_across(const Topology& topology, const Hop& hop) {
  std::optional<std::pair<std::string, std::string>> best;
  std::ptrdiff_t fewest = 0;
  const std::vector<std::string> hosts = candidates(topology, hop);
  for (const std::string& from : hosts) {
    for (const std::string& to : hosts) {
      const std::vector<Hop> path = path_between(topology, from, to);
      const auto is_hop = [&hop](const Hop& one) { return one.link == hop.link && one.from == hop.from; };
      if (std::ranges::none_of(path, is_hop)) continue;
      const auto caps =
          std::ranges::count_if(path, [](const Hop& one) { return one.rate_bit_per_s().has_value(); });
      if (best && caps >= fewest) continue;
      best = {from, to};
      fewest = caps;
    }
  }
  return best;
}

std::vector<std::vector<std::string>> islands(const Topology& topology) {
  std::vector<std::vector<std::string>> out;
  std::set<std::string> placed;
  for (const std::string& host : topology.hosts) {
    if (placed.contains(host)) continue;
    const auto reached_by = explore(topology, host, [](const Link& link) { return !link.bottleneck; });
    std::vector<std::string>& island = out.emplace_back();
    for (const std::string& other : topology.hosts) {
      if (other != host && !reached_by.contains(other)) continue;
      island.push_back(other);
      placed.insert(other);
    }
  }
  return out;
}

}  // namespace thinpipe::netem

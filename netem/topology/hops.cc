// SPDX-License-Identifier: Apache-2.0
#include "netem/topology/hops.hh"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>

#include <fmt/format.h>

namespace thinpipe::netem {
namespace {

// Returns the nodes that `start` reaches over links that may be crossed.
std::set<std::string> reach(const Topology& topology, const std::string& start,
                            const std::function<bool(const Link&)>& may_cross) {
  std::map<std::string, std::vector<std::string>> neighbours;
  for (const Link& link : topology.links) {
    if (!may_cross(link)) continue;
    neighbours[link.a].push_back(link.b);
    neighbours[link.b].push_back(link.a);
  }
  std::set<std::string> reached = {start};
  std::queue<std::string> waiting({start});
  for (; !waiting.empty(); waiting.pop()) {
    for (const std::string& neighbour : neighbours[waiting.front()]) {
      if (reached.insert(neighbour).second) waiting.push(neighbour);
    }
  }
  return reached;
}

// Returns the groups of hosts that reach each other over links that may be used.
std::vector<std::vector<std::string>> groups(const Topology& topology,
                                             const std::function<bool(const Link&)>& may_use) {
  std::vector<std::vector<std::string>> out;
  std::set<std::string> placed;
  for (const std::string& host : topology.hosts) {
    if (placed.contains(host)) continue;
    const auto reached = reach(topology, host, may_use);
    std::vector<std::string>& group = out.emplace_back();
    for (const std::string& other : topology.hosts) {
      if (!reached.contains(other)) continue;
      group.push_back(other);
      placed.insert(other);
    }
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

std::optional<Hop> narrowest(const std::vector<Hop>& path) {
  std::optional<Hop> out;
  for (const Hop& hop : path) {
    if (hop.rate_bit_per_s() && (!out || *hop.rate_bit_per_s() < *out->rate_bit_per_s())) out = hop;
  }
  return out;
}

Impairments impairments_of(const std::vector<Hop>& path) {
  Impairments out;
  double arrives = 1;
  double arrives_once = 1;
  double keeps_place = 1;
  for (const Hop& hop : path) {
    const Impairments& one = hop.direction().impairments;
    out.delay_s += one.delay_s;
    out.jitter_s += one.jitter_s;
    arrives *= 1 - one.loss;
    arrives_once *= 1 - one.duplication;
    keeps_place *= 1 - one.reordering;
  }
  out.loss = 1 - arrives;
  out.duplication = 1 - arrives_once;
  out.reordering = 1 - keeps_place;
  return out;
}

// By the probability that nothing of one frame arrives beyond each hop, from the last hop to the first.
double share_that_never_arrives(const std::vector<Hop>& path) {
  double none = 0;
  for (auto hop = path.rbegin(); hop != path.rend(); ++hop) {
    const auto& [delay_s, jitter_s, loss, duplication, reordering] = hop->direction().impairments;
    const double nobody = loss * (1 - duplication);
    const double two = duplication * (1 - loss) * (1 - loss);
    none = nobody + (1 - nobody - two) * none + two * none * none;
  }
  return none;
}

double connect_limit_s(const Topology& topology) {
  constexpr double usual_s = 5;
  constexpr double with_loss_s = 60;  // TCP repeats a lost request after 1 s, then 2 s, 4 s and so on
  constexpr double round_trips = 4;
  const std::set<std::string> switches(topology.switches.begin(), topology.switches.end());
  double between_switches_s = 0;
  double at_host_s = 0;
  bool loses = false;
  for (const Link& link : topology.links) {
    double round_trip_s = 0;
    for (const Direction* direction : {&link.forward, &link.backward}) {
      round_trip_s += direction->impairments.delay_s + direction->impairments.jitter_s;
      loses = loses || direction->impairments.loss > 0;
    }
    if (switches.contains(link.a) && switches.contains(link.b)) {
      between_switches_s += round_trip_s;
    } else {
      at_host_s = std::max(at_host_s, round_trip_s);
    }
  }
  return (loses ? with_loss_s : usual_s) + round_trips * (between_switches_s + 2 * at_host_s);
}

std::vector<std::vector<std::string>> islands(const Topology& topology) {
  return groups(topology, [](const Link& link) { return !link.bottleneck; });
}

std::vector<std::vector<std::string>> uncapped_groups(const Topology& topology) {
  return groups(topology, is_uncapped);
}

HostPaths::HostPaths(const Topology& topology) : topology_(topology), shortest_paths_(topology) {}

std::vector<Hop> HostPaths::between(const std::string& from, const std::string& to) const {
  const auto index = [this](const std::string& host) {
    return static_cast<std::size_t>(std::ranges::find(topology_.hosts, host) - topology_.hosts.begin());
  };
  std::vector<Hop> path;
  for (const DirectedLink& directed_link : shortest_paths_.path(index(from), index(to))) {
    const Link& link = topology_.links[directed_link.link];
    path.push_back(directed_link.forward ? Hop{&link, link.a, link.b} : Hop{&link, link.b, link.a});
  }
  return path;
}

std::optional<std::pair<std::string, std::string>> HostPaths::hosts_across(const Hop& hop) const {
  if (across_.empty()) {
    // Neighbours first: flows between them leave other hosts' links free for other flows.
    const std::vector<std::string>& hosts = topology_.hosts;
    for (std::size_t distance = 1; distance < hosts.size(); ++distance) {
      for (std::size_t i = 0; i + distance < hosts.size(); ++i) {
        note_path(hosts[i], hosts[i + distance]);
        note_path(hosts[i + distance], hosts[i]);
      }
    }
  }
  const auto found = across_.find({hop.link, hop.from});
  if (found == across_.end()) return std::nullopt;
  return found->second.hosts;
}

void HostPaths::note_path(const std::string& from, const std::string& to) const {
  const std::vector<Hop> path = between(from, to);
  const auto caps =
      std::ranges::count_if(path, [](const Hop& hop) { return hop.rate_bit_per_s().has_value(); });
  const std::optional<Hop> slowest = narrowest(path);
  for (const Hop& hop : path) {
    const bool is_filled = hop.rate_bit_per_s() && *hop.rate_bit_per_s() <= *slowest->rate_bit_per_s();
    const Across own{.is_filled = is_filled, .other_caps = caps, .hosts = {from, to}};
    const auto [best, is_new] = across_.try_emplace({hop.link, hop.from}, own);
    if (is_new) continue;
    Across& other = best->second;
    if (is_filled != other.is_filled ? is_filled : caps < other.other_caps) other = own;
  }
}

HostPaths::Fillers HostPaths::hosts_that_fill(const Hop& hop) const {
  const auto hosts = hosts_across(hop);
  if (!hosts) return {.hosts = {}, .obstacle = "no path between hosts crosses it"};
  const auto& [from, to] = *hosts;
  const auto slowest = narrowest(between(from, to));
  if (*slowest->rate_bit_per_s() < *hop.rate_bit_per_s()) {
    return {.hosts = {},
            .obstacle = fmt::format("the path from {} to {} also crosses {}, which is slower", from, to,
                                    slowest->name())};
  }
  return {.hosts = hosts, .obstacle = {}};
}

}  // namespace thinpipe::netem

// SPDX-License-Identifier: Apache-2.0
#include "netem/topology/shortest_paths.hh"

#include <algorithm>
#include <map>
#include <numeric>

namespace thinpipe::netem {
namespace {

struct Neighbour {
  std::size_t node;
  DirectedLink directed_link;  // towards it
};

using Graph = std::vector<std::vector<Neighbour>>;

Graph make_graph(const std::vector<Link>& links, const std::map<std::string, std::size_t>& index) {
  Graph graph(index.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    const std::size_t a = index.at(links[i].a);
    const std::size_t b = index.at(links[i].b);
    graph[a].push_back({b, {i, true}});
    graph[b].push_back({a, {i, false}});
  }
  return graph;
}

// The nodes, nearest to `host` first, and the number of links between each node and `host`.
struct Distances {
  std::vector<std::size_t> order;
  std::vector<std::size_t> of;
};

Distances distances_to(std::size_t host, const Graph& graph) {
  constexpr auto unknown = static_cast<std::size_t>(-1);
  Distances out{.order = {host}, .of = std::vector<std::size_t>(graph.size(), unknown)};
  out.of[host] = 0;
  for (std::size_t done = 0; done < out.order.size(); ++done) {
    const std::size_t node = out.order[done];
    for (const Neighbour& neighbour : graph[node]) {
      if (out.of[neighbour.node] != unknown) continue;
      out.of[neighbour.node] = out.of[node] + 1;
      out.order.push_back(neighbour.node);
    }
  }
  return out;
}

}  // namespace

ShortestPaths::ShortestPaths(const Topology& topology) : links_(topology.links), nodes_(topology.hosts) {
  nodes_.insert(nodes_.end(), topology.switches.begin(), topology.switches.end());
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < nodes_.size(); ++i) index[nodes_[i]] = i;
  const Graph graph = make_graph(links_, index);
  const std::size_t hosts = topology.hosts.size();
  std::vector<std::size_t> pairs_over(2 * links_.size(), 0);
  const auto load = [&](const DirectedLink& directed_link) -> std::size_t& {
    return pairs_over[2 * directed_link.link + (directed_link.forward ? 0 : 1)];
  };
  for (std::size_t host = 0; host < hosts; ++host) {
    const Distances distances = distances_to(host, graph);
    // The number of hosts that send through each node. The farthest nodes come first, so a node's count is
    // complete at its turn.
    std::vector<std::size_t> senders(nodes_.size(), 0);
    std::fill_n(senders.begin(), hosts, 1);
    std::vector<DirectedLink>& next = next_.emplace_back(nodes_.size());
    for (auto node = distances.order.rbegin(); *node != host; ++node) {
      const Neighbour* best = nullptr;
      for (const Neighbour& neighbour : graph[*node]) {
        if (distances.of[neighbour.node] + 1 != distances.of[*node]) continue;
        if (best == nullptr || load(neighbour.directed_link) < load(best->directed_link)) best = &neighbour;
      }
      next[*node] = best->directed_link;
      load(best->directed_link) += senders[*node];
      senders[best->node] += senders[*node];
    }
  }
}

std::size_t ShortestPaths::node(const std::string& name) const {
  return static_cast<std::size_t>(std::ranges::find(nodes_, name) - nodes_.begin());
}

DirectedLink ShortestPaths::next(const std::string& from, std::size_t host) const {
  return next_.at(host).at(node(from));
}

std::vector<DirectedLink> ShortestPaths::path(std::size_t from, std::size_t to) const {
  std::vector<DirectedLink> out;
  for (std::string at = nodes_.at(from); at != nodes_.at(to);) {
    const DirectedLink directed_link = next(at, to);
    out.push_back(directed_link);
    at = directed_link.forward ? links_[directed_link.link].b : links_[directed_link.link].a;
  }
  return out;
}

}  // namespace thinpipe::netem

// SPDX-License-Identifier: Apache-2.0
#include "netem/topology/reduction_tree.hh"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "netem/topology/hops.hh"

namespace thinpipe::netem {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

using Table = std::vector<std::vector<double>>;

// Returns the ranks in each island, ascending; islands without workers are left out.
std::vector<std::vector<int>> ranks_of_islands(const Topology& topology, std::size_t workers) {
  std::map<std::string, int> rank_of;
  for (std::size_t rank = 0; rank < workers; ++rank)
    rank_of[topology.hosts.at(rank)] = static_cast<int>(rank);
  std::vector<std::vector<int>> out;
  for (const std::vector<std::string>& hosts : islands(topology)) {
    std::vector<int> ranks;
    for (const std::string& host : hosts) {
      if (const auto found = rank_of.find(host); found != rank_of.end()) ranks.push_back(found->second);
    }
    std::ranges::sort(ranks);
    if (!ranks.empty()) out.push_back(std::move(ranks));
  }
  std::ranges::sort(out);
  return out;
}

// Returns the seconds that a bit takes over the bottlenecks between each two islands.
Table distances(const Topology& topology, const std::vector<std::vector<int>>& islands) {
  const HostPaths paths(topology);
  Table out(islands.size(), std::vector<double>(islands.size(), 0));
  for (std::size_t i = 0; i < islands.size(); ++i) {
    for (std::size_t j = 0; j < islands.size(); ++j) {
      for (const Hop& hop : paths.between(topology.hosts[static_cast<std::size_t>(islands[i].front())],
                                          topology.hosts[static_cast<std::size_t>(islands[j].front())])) {
        if (hop.link->bottleneck) out[i][j] += 1 / hop.rate_bit_per_s().value_or(infinity);
      }
    }
  }
  return out;
}

// Which of the equally near islands the next one is attached to.
enum class Preference { fewest_attached, nearest_to_first };

// The neighbours of each island in a minimum spanning tree (Prim, "Shortest connection networks", 1957).
std::vector<std::vector<std::size_t>> spanning_tree(const Table& distance, Preference preference) {
  std::vector<std::vector<std::size_t>> neighbours(distance.size());
  std::vector<std::size_t> reached = {0};
  std::vector<bool> is_reached(distance.size(), false);
  std::vector<std::size_t> depths(distance.size(), 0);  // in islands, from the first one
  is_reached[0] = true;
  while (reached.size() < distance.size()) {
    std::tuple<double, std::size_t, std::size_t, std::size_t> best = {infinity, 0, 0, 0};
    for (const std::size_t i : reached) {
      const std::size_t rank = preference == Preference::fewest_attached ? neighbours[i].size() : depths[i];
      for (std::size_t j = 0; j < distance.size(); ++j) {
        if (!is_reached[j]) best = std::min(best, {distance[i][j], rank, i, j});
      }
    }
    const auto [unused_distance, unused_rank, i, j] = best;
    neighbours[i].push_back(j);
    neighbours[j].push_back(i);
    depths[j] = depths[i] + 1;
    is_reached[j] = true;
    reached.push_back(j);
  }
  return neighbours;
}

struct Island {
  std::size_t index = 0;
  std::size_t parent = 0;  // its own index at the root
  double from_root = 0;
};

// Returns every island, parents first.
std::vector<Island> from_root(std::size_t root, const std::vector<std::vector<std::size_t>>& neighbours,
                              const Table& distance) {
  std::vector<Island> order = {{.index = root, .parent = root}};
  for (std::size_t next = 0; next < order.size(); ++next) {
    const Island island = order[next];
    for (const std::size_t neighbour : neighbours[island.index]) {
      if (neighbour == island.parent) continue;
      order.push_back({.index = neighbour,
                       .parent = island.index,
                       .from_root = island.from_root + distance[island.index][neighbour]});
    }
  }
  return order;
}

std::vector<Island> from_best_root(const Table& distance, Preference preference) {
  const std::vector<std::vector<std::size_t>> neighbours = spanning_tree(distance, preference);
  std::vector<Island> best;
  double best_height = infinity;
  for (std::size_t root = 0; root < distance.size(); ++root) {
    std::vector<Island> order = from_root(root, neighbours, distance);
    const double height = std::ranges::max_element(order, {}, &Island::from_root)->from_root;
    if (height < best_height) {
      best_height = height;
      best = std::move(order);
    }
  }
  return best;
}

// Returns the position in an island's tree of the parent of the worker at `place`, from 1 on.
using TreeShape = std::size_t (*)(std::size_t place);

std::size_t binary(std::size_t place) {
  return (place - 1) / 2;
}

std::size_t chain(std::size_t place) {
  return place - 1;
}

// Returns the parent of each worker. `order`: the islands, parents first.
std::vector<int> joined(const std::vector<std::vector<int>>& islands, const std::vector<Island>& order,
                        std::size_t workers, TreeShape shape) {
  std::vector<int> parents(workers, -1);
  std::vector<int> children(workers, 0);
  const auto hang = [&](int child, int parent) {
    parents[static_cast<std::size_t>(child)] = parent;
    ++children[static_cast<std::size_t>(parent)];
  };
  for (const std::vector<int>& ranks : islands) {
    for (std::size_t place = 1; place < ranks.size(); ++place) hang(ranks[place], ranks[shape(place)]);
  }
  for (const Island& island : order) {
    if (island.index == island.parent) continue;
    const auto children_of = [&](int rank) { return children[static_cast<std::size_t>(rank)]; };
    hang(islands[island.index].front(), *std::ranges::min_element(islands[island.parent], {}, children_of));
  }
  return parents;
}

// Returns the time that the busiest link needs if one bit crosses each edge of the tree in both directions.
double busiest_s(const Topology& topology, const std::vector<int>& parents) {
  const ShortestPaths shortest_paths(topology);
  std::vector<std::array<int, 2>> crossings(topology.links.size());  // forward, backward
  const auto send = [&](std::size_t from, std::size_t to) {
    for (const DirectedLink& directed_link : shortest_paths.path(from, to))
      ++crossings[directed_link.link][directed_link.forward ? 0 : 1];
  };
  for (std::size_t rank = 0; rank < parents.size(); ++rank) {
    if (parents[rank] < 0) continue;
    const auto parent = static_cast<std::size_t>(parents[rank]);
    send(rank, parent);
    send(parent, rank);
  }
  double busiest = 0;
  for (std::size_t i = 0; i < crossings.size(); ++i) {
    const Link& link = topology.links[i];
    busiest = std::max({busiest, crossings[i][0] / link.forward.rate_bit_per_s.value_or(infinity),
                        crossings[i][1] / link.backward.rate_bit_per_s.value_or(infinity)});
  }
  return busiest;
}

// Returns the delay of the links between the root and the worker that is farthest from it along the tree.
double deepest_s(const Topology& topology, const std::vector<int>& parents) {
  const HostPaths paths(topology);
  double deepest = 0;
  for (std::size_t rank = 0; rank < parents.size(); ++rank) {
    double delay_s = 0;
    for (std::size_t below = rank; parents[below] >= 0; below = static_cast<std::size_t>(parents[below])) {
      const auto parent = static_cast<std::size_t>(parents[below]);
      delay_s += impairments_of(paths.between(topology.hosts[below], topology.hosts[parent])).delay_s;
    }
    deepest = std::max(deepest, delay_s);
  }
  return deepest;
}

}  // namespace

std::vector<int> reduction_tree_of(const Topology& topology, std::size_t workers) {
  if (!topology.is_emulated()) {
    std::vector<int> parents(workers, -1);
    for (std::size_t rank = 1; rank < workers; ++rank) parents[rank] = static_cast<int>(binary(rank));
    return parents;
  }
  const std::vector<std::vector<int>> islands = ranks_of_islands(topology, workers);
  const Table distance = distances(topology, islands);
  std::vector<int> best;
  std::pair<double, double> least = {infinity, infinity};
  for (const Preference preference : {Preference::fewest_attached, Preference::nearest_to_first}) {
    const std::vector<Island> order = from_best_root(distance, preference);
    for (const TreeShape shape : {binary, chain}) {
      std::vector<int> parents = joined(islands, order, workers, shape);
      const std::pair cost = {busiest_s(topology, parents), deepest_s(topology, parents)};
      if (!best.empty() && cost >= least) continue;
      least = cost;
      best = std::move(parents);
    }
  }
  return best;
}

std::vector<std::int64_t> workers_below(const std::vector<int>& parents) {
  std::vector<std::int64_t> below(parents.size(), 0);
  for (std::size_t worker = 0; worker < parents.size(); ++worker) {
    for (auto on_way_up = static_cast<int>(worker); on_way_up >= 0;
         on_way_up = parents[static_cast<std::size_t>(on_way_up)]) {
      ++below[static_cast<std::size_t>(on_way_up)];
    }
  }
  return below;
}

}  // namespace thinpipe::netem

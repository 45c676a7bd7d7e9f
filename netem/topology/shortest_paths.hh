// SPDX-License-Identifier: Apache-2.0
// Shortest routes through a topology, both for the kernel's routing tables and for predictions. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "netem/topology/topology.hh"

namespace thinpipe::netem {

// A link on a path, and whether the path crosses it from its end `a` to its end `b`.
struct DirectedLink {
  std::size_t link = 0;  // its index in the topology
  bool forward = true;

  bool operator==(const DirectedLink&) const = default;
};

// The shortest routes, by number of links, from every node to every host. Among equally short ones, the next
// link is the one that the fewest pairs of hosts use so far in that direction, then the first in the
// topology. So the same topology always has the same routes, and parallel paths share the pairs.
class ShortestPaths {
 public:
  // Takes a topology of kind network that parse_topology accepts.
  explicit ShortestPaths(const Topology& topology);

  // Returns the next link from a node towards the host with this index; the node must not be that host.
  DirectedLink next(const std::string& from, std::size_t host) const;

  // Returns the path between two hosts, by their indices; empty from a host to itself.
  std::vector<DirectedLink> path(std::size_t from, std::size_t to) const;

 private:
  std::size_t node(const std::string& name) const;

  std::vector<Link> links_;
  std::vector<std::string> nodes_;               // hosts, then switches
  std::vector<std::vector<DirectedLink>> next_;  // by host, then by node
};

}  // namespace thinpipe::netem

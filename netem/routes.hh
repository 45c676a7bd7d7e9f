// Which way frames take through a topology: pure arithmetic, the same for the kernel's routing tables and for
// predictions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "netem/topology.hh"

namespace thinpipe::netem {

// A link on a path, and whether it is crossed from its end `a` to its end `b`.
struct Crossing {
  std::size_t link = 0;  // its index in the topology
  bool forward = true;

  bool operator==(const Crossing&) const = default;
};

// The shortest ways, by number of links, from every node to every host. Where several are equally short, the
// way for a host leads over the link that, in that direction, fewest pairs of hosts use so far; then over the
// first in the topology. So the same topology always has the same routes, and parallel ways share the pairs.
class Routes {
 public:
  // Of a topology of kind network that parse_topology accepts.
  explicit Routes(const Topology& topology);

  // The next link on the way from a node that is not the host itself.
  Crossing next(const std::string& from, std::size_t host) const;

  // The way between two hosts, by their indices; empty from a host to itself.
  std::vector<Crossing> path(std::size_t from, std::size_t to) const;

 private:
  std::size_t node(const std::string& name) const;

  std::vector<Link> links_;
  std::vector<std::string> nodes_;           // hosts, then switches
  std::vector<std::vector<Crossing>> next_;  // by host, then by node
};

}  // namespace thinpipe::netem

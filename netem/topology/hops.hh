// SPDX-License-Identifier: Apache-2.0
// Paths through a topology, and the hosts whose traffic measures a link. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "netem/topology/shortest_paths.hh"
#include "netem/topology/topology.hh"

namespace thinpipe::netem {

// A link and the direction in which a path crosses it.
struct Hop {
  const Link* link;
  std::string from;
  std::string to;

  std::string name() const { return direction_name(from, to); }
  const Direction& direction() const { return from == link->a ? link->forward : link->backward; }
  std::optional<double> rate_bit_per_s() const { return direction().rate_bit_per_s; }
};

// Returns every capped direction of every link, in the order of Network::shaping(). `topology` must outlive
// the hops.
std::vector<Hop> capped_hops(const Topology& topology);

// Returns the hop with the lowest cap, the first of several; nullopt if no hop has a cap.
std::optional<Hop> narrowest(const std::vector<Hop>& path);

// Returns the impairments of a whole path. Delays and jitters add up. A frame arrives if no hop loses it, and
// arrives once if no hop duplicates it.
Impairments impairments_of(const std::vector<Hop>& path);

// Returns the share of frames of which neither the frame nor a copy arrives. On each link, netem sends a frame that is both
// copied and lost once, and may lose a copy.
double share_that_never_arrives(const std::vector<Hop>& path);

// Returns the time in which any two hosts of the topology connect unless something is wrong, in seconds: 5 s
// and four round trips of the links' delays, or 60 s and as much if a link loses frames. No path crosses more
// than all links between switches and two links of hosts.
double connect_limit_s(const Topology& topology);

// Returns the islands: groups of hosts that reach each other without crossing a bottleneck, in the topology's
// order.
std::vector<std::vector<std::string>> islands(const Topology& topology);

// Returns the groups of hosts that reach each other over links without a cap in either direction, likewise.
std::vector<std::vector<std::string>> uncapped_groups(const Topology& topology);

// The paths between the hosts of a topology of kind network, which must outlive them.
class HostPaths {
 public:
  explicit HostPaths(const Topology& topology);

  // Returns the path of frames from one host to another; empty from a host to itself.
  std::vector<Hop> between(const std::string& from, const std::string& to) const;

  // Returns a sending and a receiving host whose traffic crosses the hop: without a lower cap on its path if there are such
  // hosts, with as few other caps as possible, and near each other in the topology's order; nullopt if no path between
  // hosts crosses the hop.
  std::optional<std::pair<std::string, std::string>> hosts_across(const Hop& hop) const;

  // A sending and a receiving host, or the reason why there are none.
  struct Fillers {
    std::optional<std::pair<std::string, std::string>> hosts;
    std::string obstacle;
  };
  // Returns the hosts of hosts_across() if no other hop on their path has a lower cap, so that they can fill this one.
  Fillers hosts_that_fill(const Hop& hop) const;

 private:
  struct Across {
    bool is_filled = false;  // no other cap is lower
    std::ptrdiff_t other_caps = 0;
    std::pair<std::string, std::string> hosts;
  };

  void note_path(const std::string& from, const std::string& to) const;

  const Topology& topology_;
  ShortestPaths shortest_paths_;
  // By link and the node from which it is crossed. Made by the first question, because it needs the paths of all pairs.
  mutable std::map<std::pair<const Link*, std::string>, Across> across_;
};

}  // namespace thinpipe::netem

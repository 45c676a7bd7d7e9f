// Ways through a topology, and which hosts show what a link does. Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "netem/topology.hh"

namespace thinpipe::netem {

// A link as a way crosses it.
struct Hop {
  const Link* link;
  std::string from;
  std::string to;

  std::string name() const { return from + "->" + to; }
  std::optional<double> rate_bit_per_s() const { return link->rate_bit_per_s; }
};

// Every capped link in each of its directions, in the order of Network::shaping(). `topology` must outlive
// what these functions return.
std::vector<Hop> capped_hops(const Topology& topology);

// The way from one host to another; empty from a host to itself.
std::vector<Hop> path_between(const Topology& topology, const std::string& from, const std::string& to);

// The hop with the lowest cap, the first of several; none where the way has no cap.
std::optional<Hop> narrowest(const std::vector<Hop>& path);

// The host that sends and the host that receives, so that what they exchange crosses the hop and as few other
// caps as possible; none where no way between hosts crosses it.
std::optional<std::pair<std::string, std::string>> hosts_across(const Topology& topology, const Hop& hop);

// The hosts that reach each other without crossing a bottleneck, in the topology's order.
std::vector<std::vector<std::string>> islands(const Topology& topology);

}  // namespace thinpipe::netem

// Ways through a topology, and which hosts show what a link does. Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "netem/routes.hh"
#include "netem/topology.hh"

namespace thinpipe::netem {

// A link as a way crosses it.
struct Hop {
  const Link* link;
  std::string from;
  std::string to;

  std::string name() const { return from + "->" + to; }
  const Direction& direction() const { return from == link->a ? link->forward : link->backward; }
  std::optional<double> rate_bit_per_s() const { return direction().rate_bit_per_s; }
};

// Every capped link in each of its directions, in the order of Network::shaping(). `topology` must outlive
// the hops.
std::vector<Hop> capped_hops(const Topology& topology);

// The hop with the lowest cap, the first of several; none where the way has no cap.
std::optional<Hop> narrowest(const std::vector<Hop>& path);

// What the way does to frames: delays and jitters add up; a frame arrives when no hop loses it, and once when
// none repeats it.
Impairments impairments_of(const std::vector<Hop>& path);

// The hosts that reach each other without crossing a bottleneck, in the topology's order.
std::vector<std::vector<std::string>> islands(const Topology& topology);

// The hosts that reach each other without crossing a cap in either direction, likewise.
std::vector<std::vector<std::string>> uncapped_groups(const Topology& topology);

// The ways between the hosts of a topology of kind network, which must outlive them.
class Paths {
 public:
  explicit Paths(const Topology& topology);

  // The way that frames take from one host to another; empty from a host to itself.
  std::vector<Hop> between(const std::string& from, const std::string& to) const;

  // The host that sends and the host that receives, so that what they exchange crosses the hop and as few
  // other caps as possible; none where no way between hosts crosses it.
  std::optional<std::pair<std::string, std::string>> hosts_across(const Hop& hop) const;

 private:
  const Topology& topology_;
  Routes routes_;
};

}  // namespace thinpipe::netem

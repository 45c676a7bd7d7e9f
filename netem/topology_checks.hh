// The rules of topologies that need more than one value to judge. Each check throws InputError.
#pragma once

#include <vector>

#include "netem/node_names.hh"
#include "netem/topology.hh"

namespace thinpipe::netem {

inline constexpr double most_buffer_bytes = 1e9;  // the kernel holds bursts and queues in 32 bits

// A link and where its two ends were named.
struct PlacedLink {
  Link link;
  Place a_place;
  Place b_place;
};

// Names all different, at least one host, no more than the subnet holds.
void check_nodes(const NodeNames& switches, const NodeNames& hosts, const Place& place);

// Everything else only with a rate; a shape the kernel can keep; a jitter within the delay.
void check_direction(const Direction& direction, const Place& place);

// "bottleneck" only with a rate.
void check_bottleneck(const Link& link, const Place& place);

// Known nodes, one link for each host, everything connected; and where the switches are bridges, no loop.
// `nodes`: the topology's switches, then its hosts.
void check_links(const Topology& topology, const std::vector<PlacedName>& nodes,
                 const std::vector<PlacedLink>& links, const Place& place);

}  // namespace thinpipe::netem

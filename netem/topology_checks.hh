// The rules of topologies that need more than one value to judge. Each check throws InputError.
#pragma once

#include <vector>

#include "netem/topology.hh"

namespace thinpipe::netem {

inline constexpr double most_buffer_bytes = 1e9;  // the kernel holds bursts and queues in 32 bits

// A link and where its two ends were named.
struct PlacedLink {
  Link link;
  Place a_place;
  Place b_place;
};

// Names fit for a device, all different, at least one host, no more than the subnet holds.
void check_nodes(const Topology& topology, const Place& place);

// Burst, queue and "bottleneck" only with a rate, and a shape the kernel can keep.
void check_caps(const Link& link, const Place& place);

// Known nodes, one link for each host, no loop, everything connected.
void check_links(const Topology& topology, const std::vector<PlacedLink>& links, const Place& place);

}  // namespace thinpipe::netem

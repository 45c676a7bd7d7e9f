// SPDX-License-Identifier: Apache-2.0
// Rules of topologies that concern more than one value. Each check throws InputError.
#pragma once

#include <vector>

#include "netem/topology/node_names.hh"
#include "netem/topology/topology.hh"

namespace thinpipe::netem {

inline constexpr double max_buffer_bytes = 1e9;  // the kernel holds bursts and queues in 32 bits

// A link and where the user named its two ends.
struct PlacedLink {
  Link link;
  Place a_place;
  Place b_place;
};

// Checks that names are unique, and that there is at least one host and no more than the subnet holds.
void check_nodes(const NodeNames& switches, const NodeNames& hosts, const Place& place);

// Checks that other settings have a rate beside them, the kernel can hold the shape, and the jitter is within
// the delay.
void check_direction(const Direction& direction, const Place& place);

// Checks that a bottleneck has a rate.
void check_bottleneck(const Link& link, const Place& place);

// Checks that nodes exist, each host has one link, everything is connected, and a bridged network has no
// loop. `nodes`: the topology's switches, then its hosts.
void check_links(const Topology& topology, const std::vector<PlacedName>& nodes,
                 const std::vector<PlacedLink>& links, const Place& place);

}  // namespace thinpipe::netem

// SPDX-License-Identifier: Apache-2.0
// The topology that explains what was measured between the workers of a real network. Pure.
#pragma once

#include <string>
#include <vector>

#include "netem/topology/topology.hh"

namespace thinpipe::netem {

// The rate from each worker to each other one, by [from][to], in bit/s of payload. The diagonal is ignored.
using RateMatrix = std::vector<std::vector<double>>;

// Returns the workers in groups whose connections are fast, by ranks, ascending. Two workers are in the same island if
// both directions between them carry at least half of what the slower of the two gets from its best peer, or if others
// join them in this way.
std::vector<std::vector<int>> islands_of(const RateMatrix& bit_per_s);

// Returns a network in which each island is a switch with its hosts. Each host's link has the highest rate that its
// worker sent and received. A link between islands, a bottleneck, has the highest rate between their workers; the links
// are the fastest that connect all. With one island the hosts' own links are the bottlenecks. `hosts`: a name for each
// worker. Directions of a link whose rates are within 10 % get the same.
Topology topology_of(const RateMatrix& bit_per_s, const std::string& name,
                     const std::vector<std::string>& hosts);

}  // namespace thinpipe::netem

// SPDX-License-Identifier: Apache-2.0
// A reduction tree of workers that crosses each bottleneck between their islands once. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "netem/topology/topology.hh"

namespace thinpipe::netem {

// Returns the parent of each worker, by ranks; -1 at the root. The workers are on the topology's first hosts.
//
// Each island is attached to the nearest one, by the time of a byte over the bottlenecks between them. Equally near ones
// leave a choice: the one with the fewest attached, so that no island relays the messages of all others if a switch
// without hosts joins them, or the one nearest to the first island, so that a mesh becomes a star and messages take few
// hops. The root's island is the one whose farthest island is nearest.
//
// Inside an island the tree is binary, or a chain, where workers have two neighbours and the attached islands, but bytes
// take more hops. An island is attached to a worker with the fewest children.
//
// Of these trees, it is the one whose busiest link needs the least time for a byte, and among those the one whose
// farthest worker is nearest to the root, by the links' delays.
std::vector<int> reduction_tree_of(const Topology& topology, std::size_t workers);

// Returns the number of workers in each worker's subtree, itself included. `parents`: as above, or empty.
std::vector<std::int64_t> workers_below(const std::vector<int>& parents);

}  // namespace thinpipe::netem

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
// Each island is attached to the nearest one, by the time of a byte over the bottlenecks between them; among
// equally near ones, to the one with the fewest attached. So if a switch without hosts joins the islands, no
// island relays the messages of all others. The root's island is the one whose farthest island is nearest.
//
// Inside an island the tree is binary, or a chain if three neighbours would make hosts' own links the
// slowest. In a chain workers have two neighbours and the attached islands, but bytes take more hops. An
// island is attached to a worker with the fewest children.
std::vector<int> reduction_tree_of(const Topology& topology, std::size_t workers);

// Returns the number of workers in each worker's subtree, itself included. `parents`: as above, or empty.
std::vector<std::int64_t> workers_below(const std::vector<int>& parents);

}  // namespace thinpipe::netem

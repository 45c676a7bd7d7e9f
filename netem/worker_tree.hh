// A tree of workers that crosses each bottleneck between their islands once. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "netem/topology.hh"

namespace thinpipe::netem {

// The parent of each worker, by ranks; -1 at the root. The workers are on the topology's first hosts.
//
// Islands hang on the nearest others, by the time that a byte takes over the bottlenecks between them, and of
// equally near ones on that which fewest hang on: where a switch without hosts joins them, none has to carry
// what all others say. The root's island is the one from which the farthest is nearest. Inside an island the
// tree is binary, or a chain where hosts' own links would hold up all the rest for having three neighbours:
// in a chain workers have two and the islands that hang on them, but bytes take more hops. An island hangs on
// a worker with the fewest children.
std::vector<int> worker_tree(const Topology& topology, std::size_t workers);

// Of each worker, how many its branch has, itself among them. parents: as above, or empty.
std::vector<std::int64_t> workers_below(const std::vector<int>& parents);

}  // namespace thinpipe::netem

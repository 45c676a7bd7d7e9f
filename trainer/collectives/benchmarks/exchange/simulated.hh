// What the simulation says of an all-reduce.
#pragma once

#include <cstdint>

#include "netem/topology.hh"

namespace thinpipe {

// Of so many float32 of each host, along the tree.
double simulated_time_s(const netem::Topology& topology, std::int64_t elements);

}  // namespace thinpipe

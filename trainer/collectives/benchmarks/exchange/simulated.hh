// SPDX-License-Identifier: Apache-2.0
// The simulated time of an all-reduce.
#pragma once

#include <cstdint>

#include "netem/topology/topology.hh"

namespace thinpipe {

// Returns the time to sum `elements` float32 values per host along the reduction tree.
double simulated_time_s(const netem::Topology& topology, std::int64_t elements);

}  // namespace thinpipe

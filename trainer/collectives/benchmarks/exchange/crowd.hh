// SPDX-License-Identifier: Apache-2.0
// Topologies with several workers at the place of each host.
#pragma once

#include "netem/topology/topology.hh"

namespace thinpipe {

// Returns a topology in which every host is replaced by `times` hosts, each with a link like the original's.
netem::Topology crowded(const netem::Topology& topology, int times);

}  // namespace thinpipe

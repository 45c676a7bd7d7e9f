// A topology with more workers in each of its places.
#pragma once

#include "netem/topology.hh"

namespace thinpipe {

// Every host becomes `times` of them, each with a link like its one.
netem::Topology crowded(const netem::Topology& topology, int times);

}  // namespace thinpipe

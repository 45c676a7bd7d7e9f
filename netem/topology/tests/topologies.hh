// SPDX-License-Identifier: Apache-2.0
// The bundled topologies, for tests.
#pragma once

#include <string>

#include "common/support/tests/paths.hh"
#include "netem/topology/topology.hh"
#include "netem/topology/topology_format.hh"
#include "netem/topology/topology_settings.hh"

namespace thinpipe::netem {

inline Topology shipped(const std::string& name) {
  return load_topology(source_path("topologies/") + name + ".json");
}

inline Topology three_switch(double rate_bit_per_s = 100e6) {
  Topology topology = shipped("three-switch");
  set_bottleneck_rate(topology, rate_bit_per_s, {"test", ""});
  return topology;
}

}  // namespace thinpipe::netem

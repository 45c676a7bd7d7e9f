// The topology that a command works on, as its command line names it.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "netem/topology.hh"

namespace thinpipe {

struct TopologyChoice {
  std::string name = {};  // "three-switch", or the path of a .json file; what is here at first is the default
  std::vector<std::string> overrides = {};

  // TOPOLOGY, required where it has no default, and --set.
  void add_to(CLI::App& command);

  // Reads and checks it. Throws InputError; so also for the loopback, which is no virtual network.
  netem::Topology load() const;
};

}  // namespace thinpipe

// The topology that a command works on, as its command line names it.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "netem/awake_cores.hh"
#include "netem/topology.hh"

namespace thinpipe {

// --idle-cores, of all commands that build networks. `value` is the default, and what is chosen.
void add_idle_cores(CLI::App& command, netem::IdleCores& value);

struct TopologyChoice {
  std::string name = {};  // "three-switch", or the path of a .json file; what is here at first is the default
  std::vector<std::string> overrides = {};

  netem::IdleCores idle_cores = netem::IdleCores::as_needed;

  // TOPOLOGY, required where it has no default, --set and --idle-cores.
  void add_to(CLI::App& command);

  // Reads and checks it. Throws InputError; so also for the loopback, which is no virtual network.
  netem::Topology load() const;
};

}  // namespace thinpipe

// SPDX-License-Identifier: Apache-2.0
// The topology that a command line names.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "netem/kernel/awake_cores.hh"
#include "netem/topology/topology.hh"

namespace thinpipe {

// Adds --idle-cores, an option of all commands that build networks. `value` has the default and receives the
// choice.
void add_idle_cores(CLI::App& command, netem::IdleCores& value);

struct TopologyChoice {
  std::string name = {};  // "three-switch", or the path of a .json file; the initial value is the default
  std::vector<std::string> overrides = {};

  netem::IdleCores idle_cores = netem::IdleCores::as_needed;

  // Adds TOPOLOGY (required if it has no default), --set and --idle-cores.
  void add_to(CLI::App& command);

  // Reads and checks the topology. Throws InputError, also for the loopback, which is no virtual network.
  netem::Topology load() const;
};

}  // namespace thinpipe

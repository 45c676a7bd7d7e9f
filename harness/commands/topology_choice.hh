// The topology that a command works on, as its command line names it.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "netem/awake_cores.hh"
#include "netem/topology.hh"

namespace thinpipe {

// What the flag --let-cores-sleep does, in all commands that build networks.
inline constexpr const char* let_cores_sleep_effect =
    "Do not keep idle processors awake: they wake up late, and links are slower while nobody computes";

struct TopologyChoice {
  std::string name = {};  // "three-switch", or the path of a .json file; what is here at first is the default
  std::vector<std::string> overrides = {};

  bool let_cores_sleep = false;

  // TOPOLOGY, required where it has no default, --set and --let-cores-sleep.
  void add_to(CLI::App& command);

  // Reads and checks it. Throws InputError; so also for the loopback, which is no virtual network.
  netem::Topology load() const;

  netem::IdleCores idle_cores() const { return netem::idle_cores(let_cores_sleep); }
};

}  // namespace thinpipe

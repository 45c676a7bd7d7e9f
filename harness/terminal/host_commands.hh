// What `thinpipe shell` runs, and in which hosts. Pure.
#pragma once

#include <string>
#include <vector>

#include "netem/topology/topology.hh"

namespace thinpipe {

struct HostCommand {
  std::string host;
  std::vector<std::string> arguments;  // empty: an interactive shell
};

// The first host of the command line ("" for none: the topology's first) and the words behind its "--", in
// which each "--and --host NAME -- COMMAND..." begins another command. Throws InputError.
std::vector<HostCommand> read_host_commands(const netem::Topology& topology, const std::string& first_host,
                                            const std::vector<std::string>& words);

}  // namespace thinpipe

// SPDX-License-Identifier: Apache-2.0
// The commands of `thinpipe shell` and their hosts. Pure.
#pragma once

#include <string>
#include <vector>

#include "netem/topology/topology.hh"

namespace thinpipe {

struct ShellCommand {
  std::string host;
  std::vector<std::string> arguments;  // empty: an interactive shell
};

// Returns the commands of a command line. `first_host`: its first host, or "" for the topology's first.
// `words`: the words after its "--", in which each "--and --host NAME -- COMMAND..." begins another command.
// Throws InputError.
std::vector<ShellCommand> parse_shell_arguments(const netem::Topology& topology,
                                                const std::string& first_host,
                                                const std::vector<std::string>& words);

}  // namespace thinpipe

// SPDX-License-Identifier: Apache-2.0
// A user's command in a host of a network, as a child process.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/support/child_process.hh"
#include "netem/kernel/host.hh"

namespace thinpipe {

// Exit code for a command that cannot be executed, as in shells.
inline constexpr int cannot_start = 127;

// Returns the exit code, or 128 + n for a command that signal n ended, as shells do.
int exit_code(const ExitStatus& status);

// Returns the variables of a command in the host: they name it and the topology, and netem::polling_environment().
std::vector<std::pair<std::string, std::string>> host_variables(const netem::HostList& hosts,
                                                                const std::string& host);

// Moves the calling process, a child before exec, into the host: its network, with the hosts' names and its
// own. Throws SystemError.
void enter_host(const netem::HostList& hosts, const netem::Host& host);

}  // namespace thinpipe

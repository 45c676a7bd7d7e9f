// SPDX-License-Identifier: Apache-2.0
// Runs the user's commands inside the hosts of a network.
#pragma once

#include <vector>

#include "harness/terminal/command_signals.hh"
#include "harness/terminal/shell_arguments.hh"
#include "netem/kernel/host.hh"

namespace thinpipe {

// Limit on the wait for a server's socket before the next command starts.
inline constexpr double max_wait_for_socket_s = 1;

// Time between the signal that asks a command to end and SIGKILL.
inline constexpr double time_to_end_s = 2;

// Starts all commands, each in its host, and waits for the last one. Commands start in order, each when the
// previous one has opened a socket, ended, or run for a second. The last one is in the foreground: it has the
// terminal, standard input and standard output. The others read from /dev/null, and their output appears on
// standard error, each line after the host's name. They are ended when the foreground command has ended.
//
// Returns the exit code of the first command that failed by itself, otherwise 0; 128 + n for one that signal
// n ended; cannot_start for one that cannot be executed. Passes signals to this process on to every command,
// except those that its terminal sends to the whole group.
int run_shell(const netem::HostList& hosts, const std::vector<ShellCommand>& commands,
              const CommandSignals& signals);

}  // namespace thinpipe

// SPDX-License-Identifier: Apache-2.0
// The program's commands. Each is one file in this folder, which registers itself.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/support/registration.hh"

namespace thinpipe {

// Passed to every command.
struct Invocation {
  std::vector<std::string> arguments;  // of this process, its name first
  std::function<int()> action;         // set by the command that the user named; returns the exit code
};

// Adds the command and its options to the program. If the user names the command, it sets the action. The
// invocation outlives the program.
using AddCommand = void (*)(CLI::App& program, Invocation& invocation);

struct CommandRegistration {
  // `position` orders the commands in `thinpipe --help`.
  CommandRegistration(int position, AddCommand add);
};

// Adds all commands, and --version.
void add_commands(CLI::App& program, Invocation& invocation);

}  // namespace thinpipe

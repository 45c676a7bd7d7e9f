// The program's commands. Each is one file here, which registers itself.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "harness/support/registration.hh"

namespace thinpipe {

// What every command is given.
struct Invocation {
  std::vector<std::string> arguments;  // of this process, its name first
  std::function<int()> action;         // set by the command that was named; returns the exit code
};

// Adds the command to the program, with its options; when it is named on the command line it sets the action.
// The invocation outlives the program.
using AddCommand = void (*)(CLI::App& program, Invocation& invocation);

struct CommandRegistration {
  // `position`: where `thinpipe --help` lists it.
  CommandRegistration(int position, AddCommand add);
};

void add_commands(CLI::App& program, Invocation& invocation);

}  // namespace thinpipe

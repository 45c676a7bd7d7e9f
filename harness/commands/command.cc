// SPDX-License-Identifier: Apache-2.0
#include "harness/commands/command.hh"

#include <map>

#include "harness/records/provenance.hh"

namespace thinpipe {
namespace {

std::multimap<int, AddCommand>& commands() {
  static std::multimap<int, AddCommand> registered;
  return registered;
}

}  // namespace

CommandRegistration::CommandRegistration(int position, AddCommand add) {
  commands().emplace(position, add);
}

void add_commands(CLI::App& program, Invocation& invocation) {
  program.set_version_flag("--version", [] { return "thinpipe " + program_version(); });
  for (const auto& [position, add] : commands()) add(program, invocation);
}

}  // namespace thinpipe

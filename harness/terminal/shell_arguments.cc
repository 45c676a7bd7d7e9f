// SPDX-License-Identifier: Apache-2.0
#include "harness/terminal/shell_arguments.hh"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/support/exception.hh"
#include "common/support/nearest.hh"

namespace thinpipe {
namespace {

constexpr const char* separator = "--and";
constexpr const char* form = "--and --host NAME -- COMMAND...";

void check_host(const netem::Topology& topology, const std::string& name) {
  if (std::ranges::find(topology.hosts, name) == topology.hosts.end()) {
    throw InputError({"--host " + name, ""}, fmt::format("the topology {} has no such host{}", topology.name,
                                                         suggestion(name, topology.hosts)));
  }
}

// Parses the words of a command after the first, which include its host.
ShellCommand read_later(std::vector<std::string> words) {
  const Place place{fmt::format("{} {}", separator, fmt::join(words, " ")), ""};
  if (words.size() < 3 || words[0] != "--host" || words[2] != "--") {
    throw InputError(place, fmt::format("must be written {}", form));
  }
  return {words[1], {words.begin() + 3, words.end()}};
}

}  // namespace

std::vector<ShellCommand> parse_shell_arguments(const netem::Topology& topology,
                                                const std::string& first_host,
                                                const std::vector<std::string>& words) {
  std::vector<ShellCommand> commands;
  auto begin = words.begin();
  while (true) {
    const auto end = std::find(begin, words.end(), separator);
    commands.push_back(commands.empty() ? ShellCommand{first_host, {begin, end}} : read_later({begin, end}));
    if (end == words.end()) break;
    begin = end + 1;
  }
  if (commands.front().host.empty()) commands.front().host = topology.hosts.front();
  for (const ShellCommand& command : commands) {
    check_host(topology, command.host);
    if (command.arguments.empty() && commands.size() > 1) {
      throw InputError({"--host " + command.host, ""},
                       fmt::format("each of several hosts needs a command: {}", form));
    }
  }
  return commands;
}

}  // namespace thinpipe

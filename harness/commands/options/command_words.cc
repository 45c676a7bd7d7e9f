// SPDX-License-Identifier: Apache-2.0
#include "harness/commands/options/command_words.hh"

#include <algorithm>

#include <fmt/format.h>

#include "common/support/exception.hh"

namespace thinpipe {

std::vector<std::string> command_words(const std::string& program, const std::vector<std::string>& parsed,
                                       const std::vector<std::string>& arguments,
                                       const std::string& example) {
  const auto mark = std::ranges::find(arguments, "--");
  if (mark == arguments.end()) {
    throw InputError({parsed.empty() ? program : fmt::format("{} {}", program, parsed.front()), ""},
                     fmt::format("a command must follow \"--\", for example: {}", example));
  }
  if (mark + 1 == arguments.end()) throw InputError({program + " --", ""}, "no command follows \"--\"");
  return {mark + 1, arguments.end()};
}

}  // namespace thinpipe

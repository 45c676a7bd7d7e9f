// SPDX-License-Identifier: Apache-2.0
#include "netem/preload/preloaded.hh"

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "common/support/exception.hh"

namespace thinpipe::netem {

std::string preload_list(const std::string& library, const char* own) {
  if (library.find_first_of(" :") != std::string::npos) {
    throw Error(fmt::format(
        "preload {} into the workers: the dynamic linker splits paths at spaces and colons; build or install Thinpipe in "
        "a folder whose path has neither",
        library));
  }
  return own == nullptr || *own == '\0' ? library : fmt::format("{}:{}", own, library);
}

#ifdef THINPIPE_POLLING_LIBRARY

namespace {

// Beside this program in a build folder; after an installation in lib.
std::filesystem::path library() {
  const auto programs = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const auto built = programs / THINPIPE_POLLING_LIBRARY;
  const auto installed = programs.parent_path() / "lib" / "thinpipe" / THINPIPE_POLLING_LIBRARY;
  for (const auto& path : {built, installed}) {
    if (std::filesystem::exists(path)) return path;
  }
  throw Error(
      fmt::format("preload {} into the workers: it is missing, also from {}; build the target "
                  "thinpipe-polling, or install Thinpipe again",
                  built.string(), installed.parent_path().string()));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> polling_environment() {
  constexpr const char* variable = "LD_PRELOAD";
  return {{variable, preload_list(library().string(), std::getenv(variable))}};
}

#else

std::vector<std::pair<std::string, std::string>> polling_environment() {
  return {};
}

#endif

}  // namespace thinpipe::netem

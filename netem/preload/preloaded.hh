// SPDX-License-Identifier: Apache-2.0
// The environment of workers, which share this machine's cores although each stands for a host with its own.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace thinpipe::netem {

// Returns the value of LD_PRELOAD that loads the library after those of `own`, this process's value or null:
// a sanitizer of the user's must come first. Throws Error if its path has a space or a colon, at which the
// dynamic linker would split it.
std::string preload_list(const std::string& library, const char* own);

// Returns the variable that preloads the library of polling.cc into a worker: without it, threads of Gloo
// take the cores from the workers that they wait for. Empty in builds with sanitizers, which must be loaded
// first. Throws Error if the library is missing, and as preload_list() does.
std::vector<std::pair<std::string, std::string>> polling_environment();

}  // namespace thinpipe::netem

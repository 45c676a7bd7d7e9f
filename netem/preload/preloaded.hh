// SPDX-License-Identifier: Apache-2.0
// The environment of workers, which share this machine's cores although each stands for a host with its own.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace thinpipe::netem {

// Returns the variable that preloads the library of polling.cc into a worker: without it, threads of Gloo take the
// cores from the workers that they wait for. This process's own LD_PRELOAD follows. Empty in builds with sanitizers,
// which must be loaded first. Throws Error if the library is missing.
std::vector<std::pair<std::string, std::string>> polling_environment();

}  // namespace thinpipe::netem

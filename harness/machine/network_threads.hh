// SPDX-License-Identifier: Apache-2.0
// The kernel's threads for delayed network work (ksoftirqd), one per CPU. They cannot be seen from inside the sandbox.
#pragma once

#include <optional>
#include <string>

namespace thinpipe {

// Of one thread, or the sum over several, since their start.
struct ThreadTimes {
  double ran_s = 0;
  double waited_s = 0;  // ready to run, but without a CPU
};

// Returns the sum over the threads; nullopt if the kernel does not tell. The first call must come before children are
// started: they must not inherit the files.
std::optional<ThreadTimes> read_network_threads();

// Before netem::run_in_sandbox(), opens what read_network_threads() reads there.
void pass_network_threads_to_sandbox();

// Returns the times in a schedstat file; nullopt if the text is something else.
std::optional<ThreadTimes> parse_schedstat(const std::string& schedstat);

}  // namespace thinpipe

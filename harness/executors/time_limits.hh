// SPDX-License-Identifier: Apache-2.0
// Limits on how long the controller waits for parts of a run.
#pragma once

#include <chrono>

namespace thinpipe {

using Seconds = std::chrono::duration<double>;

struct TimeLimits {
  Seconds stall{600};     // without progress of any worker: the run has failed
  Seconds silence{8};     // without a heartbeat of a worker, which sends one per second: it hangs
  Seconds profiling{30};  // of measuring a compute profile; it ends earlier once the mean is known well
};

}  // namespace thinpipe

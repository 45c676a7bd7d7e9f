// SPDX-License-Identifier: Apache-2.0
// Linked into the test programs that run worlds of workers as threads of one process.
#include <cstdio>

#include <fmt/format.h>
#include <sched.h>

namespace {

// Gloo's receiving thread polls without sleeping while a sending thread holds the lock of their connection. By default
// it preempts the sender, which holds that lock, as soon as the first byte arrives, and then polls until its time slice
// ends: most of the CPU time of eight workers on two cores. A thread of SCHED_BATCH preempts no other, and all threads
// inherit this.
[[maybe_unused]] const bool workers_do_not_preempt = [] {
  const sched_param no_priority{};
  if (::sched_setscheduler(0, SCHED_BATCH, &no_priority) != 0) {
    fmt::print(stderr, "This process cannot become SCHED_BATCH; so its tests take longer.\n");
  }
  return true;
}();

}  // namespace

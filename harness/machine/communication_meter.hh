// SPDX-License-Identifier: Apache-2.0
// Measures the CPU time that workers of a replay, which compute nothing, and the network take: the time of their
// processes, of the kernel's threads for delayed network work, and of interrupts while CPUs are free. Other programs'
// time does not count.
#pragma once

#include <cstdint>
#include <vector>

#include <sys/types.h>

#include "common/protocol/event.hh"
#include "netem/kernel/awake_cores.hh"

namespace thinpipe {

class CommunicationMeter {
 public:
  // Measures the pace of the threads that keep CPUs awake, in some hundred milliseconds. `awake` must outlive this.
  // Throws Error if other programs leave those threads no time.
  explicit CommunicationMeter(const netem::AwakeCores& awake);

  // Takes the next event of a worker of the replay.
  void take(std::int64_t rank, const Event& event);

  // CPU time, the sum over all cores.
  struct CpuTime {
    double used_s = 0;
    double free_s = 0;  // in which no program used the core
  };

  // Returns, for each class of steps, the CPU time per step. Throws Error before the replay's end.
  std::vector<CpuTime> class_times() const;

 private:
  CpuTime read() const;

  const netem::AwakeCores& awake_;
  double turns_per_s_ = 0;  // of a thread that keeps a CPU awake
  std::vector<pid_t> workers_;
  std::vector<CpuTime> readings_;    // at the start and after each step of rank 0
  std::vector<std::int64_t> steps_;  // by class
};

}  // namespace thinpipe

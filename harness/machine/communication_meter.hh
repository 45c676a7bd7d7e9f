// Measures the CPU time that workers of a replay, which compute nothing, and the network take: the time that they leave
// to the threads that keep CPUs awake.
#pragma once

#include <vector>

#include "common/protocol/event.hh"
#include "netem/kernel/awake_cores.hh"

namespace thinpipe {

class CommunicationMeter {
 public:
  // Measures the pace of idle CPUs, in some hundred milliseconds. `awake` must outlive this.
  CommunicationMeter(const netem::AwakeCores& awake, double cores);

  // Takes the next event of the replay's rank 0.
  void take(const Event& event);

  // Returns, for each class of steps, the CPU time per step of everything that ran. Throws Error before the replay's
  // end, or for a class without a step.
  std::vector<double> class_times_s() const;

 private:
  struct Reading {
    double clock_s = 0;
    double turns = 0;
  };

  Reading read() const;

  const netem::AwakeCores& awake_;
  double cores_;
  double turns_per_s_;               // of an idle CPU
  std::vector<Reading> readings_;    // at the start and after each step
  std::vector<std::int64_t> steps_;  // by class
};

}  // namespace thinpipe

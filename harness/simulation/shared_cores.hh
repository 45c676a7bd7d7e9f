// SPDX-License-Identifier: Apache-2.0
// The cores of the workers' machines, with an action at the end of each job. Pure.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "harness/simulation/cores.hh"
#include "harness/simulation/machine_model.hh"

namespace thinpipe {

class SharedCores {
 public:
  SharedCores(const MachineModel& model, std::size_t workers);

  // Starts a job of a worker, which takes `cpu_s` on a core of its own.
  void start(std::size_t rank, double cpu_s, Cores::Priority priority, std::function<void()> at_end);

  // Returns the time until the next job ends; infinity if there is none.
  double next_completion_s() const;

  // Advances time, at most to the next completion. Appends the actions of the jobs that have ended.
  void advance(double time_s, std::vector<std::function<void()>>& ended);

 private:
  bool communication_first_;
  std::size_t workers_per_machine_;
  std::vector<Cores> machines_;
  std::map<std::size_t, std::function<void()>> actions_;  // by job
  std::size_t jobs_ = 0;                                  // started so far
};

}  // namespace thinpipe

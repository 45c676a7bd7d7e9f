// SPDX-License-Identifier: Apache-2.0
// The cores of a machine as a fluid that its jobs share. A job uses one core at most. Jobs of a higher priority go
// first; those of the same priority share equally what is left. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <queue>
#include <vector>

namespace thinpipe {

class Cores {
 public:
  // Highest first.
  enum class Priority { network, communication, compute };

  explicit Cores(double cores) : cores_(cores) {}

  // Starts a job that takes `cpu_s` on a core of its own; the caller chooses `id`.
  void start(double cpu_s, Priority priority, std::size_t id);

  // Returns the time until the next job ends; infinity if there is none.
  double next_completion_s() const;

  // Advances time, at most to the next completion. Returns the ids of the jobs that have ended.
  std::vector<std::size_t> advance(double time_s);

  // Returns the CPU time that jobs have used so far.
  double used_s() const { return used_s_; }

 private:
  struct Job {
    double ends_at;  // the level of its priority at which it has ended
    std::size_t id;
    bool operator>(const Job& other) const {
      return ends_at > other.ends_at || (ends_at == other.ends_at && id > other.id);
    }
  };
  struct Level {
    double level_s = 0;  // CPU time so far of a job that started at level 0
    double rate = 0;     // cores per job
    std::priority_queue<Job, std::vector<Job>, std::greater<>> jobs = {};
  };

  void share();

  double cores_;
  double used_s_ = 0;
  std::array<Level, 3> levels_;  // by priority
};

}  // namespace thinpipe

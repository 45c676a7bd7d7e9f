// SPDX-License-Identifier: Apache-2.0
// A worker's current activity, for its heartbeat: written by the training loop, read by another thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace thinpipe::trainer {

class WorkerStatus {
 public:
  enum class Phase : std::uint8_t { starting, computing, exchanging, evaluating };

  void enter(Phase phase) { phase_ = phase; }
  void count(std::int64_t iteration) { iteration_ = iteration; }

  const char* phase() const {
    switch (phase_.load()) {
      case Phase::starting:
        return "starting";
      case Phase::computing:
        return "computing";
      case Phase::exchanging:
        return "exchanging";
      case Phase::evaluating:
        return "evaluating";
    }
    return "starting";
  }
  std::int64_t iteration() const { return iteration_; }

 private:
  std::atomic<Phase> phase_ = Phase::starting;
  std::atomic<std::int64_t> iteration_ = 0;  // iterations done
};

}  // namespace thinpipe::trainer

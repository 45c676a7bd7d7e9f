// SPDX-License-Identifier: Apache-2.0
// Takes the place of a training run's compute in a replay, which has nothing to compute.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

#include "common/protocol/worker_file.hh"
#include "trainer/base/stopwatch.hh"

namespace thinpipe::trainer {

// The compute time of one thread.
class EmulatedCompute {
 public:
  // memory: ComputeEmulation::busy reads it repeatedly between arithmetic operations, at some gigabytes per
  // second, so that exchanges find the caches as a training run leaves them. Must outlive this object.
  EmulatedCompute(ComputeEmulation compute_emulation, std::span<const float> memory)
      : mode_(compute_emulation), memory_(memory) {}

  // From now on, multiplies all times by `pace`.
  void set_pace(double pace) { pace_ = pace; }

  // Sets the start of the time for reach().
  void begin();

  // Returns when that much time has passed since begin(): elapsed time, or CPU time for
  // ComputeEmulation::busy.
  void reach(double time_s);

  // Spends that much time from now on.
  void spend(double time_s) {
    begin();
    reach(time_s);
  }

 private:
  void work();

  ComputeEmulation mode_;
  std::span<const float> memory_;
  double pace_ = 1;
  std::size_t next_ = 0;  // position in memory_
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  Stopwatch stopwatch_;
};

}  // namespace thinpipe::trainer

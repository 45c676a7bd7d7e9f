// Stands for a training's computing in a replay, which has nothing to compute.
#pragma once

#include <chrono>

#include "trainer/stopwatch.hh"

namespace thinpipe::trainer {

enum class Computing {
  waits,  // as if each worker had a device of its own
  works   // keeps a processor core busy, for which this machine's workers then compete as training ones do
};

// From its construction on, for one thread.
class ComputingTime {
 public:
  explicit ComputingTime(Computing computing) : computing_(computing) {}

  // Returns when so much time has passed or, where it works, so much of a processor core's.
  void reach(double time_s) const;

 private:
  Computing computing_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  Stopwatch stopwatch_;
};

}  // namespace thinpipe::trainer

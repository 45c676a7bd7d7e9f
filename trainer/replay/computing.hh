// Stands for a training's computing in a replay, which has nothing to compute.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

#include "trainer/stopwatch.hh"

namespace thinpipe::trainer {

enum class Computing {
  waits,  // as if each worker had a device of its own
  works   // keeps a processor core and its caches busy, for which this machine's workers then compete as
          // training ones do
};

// Of one thread.
class ComputingTime {
 public:
  // Where it works, it reads this memory again and again between its arithmetic, some gigabytes a second: an
  // exchange finds the caches as a training leaves them, not as it left them itself. The memory must outlive
  // this.
  ComputingTime(Computing computing, std::span<const float> memory)
      : computing_(computing), memory_(memory) {}

  // What all times are multiplied by from now on.
  void set_pace(double pace) { pace_ = pace; }

  // What reach() counts from.
  void begin();

  // Returns when so much time has passed or, where it works, so much of a processor core's.
  void reach(double time_s);

  // So much from now on.
  void spend(double time_s) {
    begin();
    reach(time_s);
  }

 private:
  void work();

  Computing computing_;
  std::span<const float> memory_;
  double pace_ = 1;
  std::size_t next_ = 0;  // of the memory
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  Stopwatch stopwatch_;
};

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// Elapsed time, and CPU time of the calling thread.
#pragma once

#include <ctime>

namespace thinpipe::trainer {

struct Durations {
  double elapsed_s = 0;  // by the steady clock
  double cpu_s = 0;      // CPU time of the thread

  Durations& operator+=(const Durations& other) {
    elapsed_s += other.elapsed_s;
    cpu_s += other.cpu_s;
    return *this;
  }
  friend Durations operator+(Durations a, const Durations& b) { return a += b; }
  friend Durations operator-(const Durations& a, const Durations& b) {
    return {a.elapsed_s - b.elapsed_s, a.cpu_s - b.cpu_s};
  }
};

// Only the thread that created it may call cpu_s() and read(); any thread may call elapsed_s().
class Stopwatch {
 public:
  // Returns the time by the clock that all processes of this machine share.
  static double monotonic_s() { return now_s(CLOCK_MONOTONIC); }

  double elapsed_s() const { return now_s(CLOCK_MONOTONIC) - start_.elapsed_s; }
  double cpu_s() const { return now_s(CLOCK_THREAD_CPUTIME_ID) - start_.cpu_s; }
  Durations read() const { return {elapsed_s(), cpu_s()}; }

 private:
  static double now_s(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);  // cannot fail for existing clocks
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }

  Durations start_ = {now_s(CLOCK_MONOTONIC), now_s(CLOCK_THREAD_CPUTIME_ID)};
};

}  // namespace thinpipe::trainer

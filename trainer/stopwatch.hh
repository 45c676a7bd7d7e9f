// Elapsed time, by the steady clock.
#pragma once

#include <chrono>

namespace thinpipe::trainer {

class Stopwatch {
 public:
  double elapsed_s() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace thinpipe::trainer

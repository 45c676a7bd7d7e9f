// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/straggler.hh"

#include <chrono>
#include <thread>

namespace thinpipe::trainer {

void Straggler::begin_step(std::int64_t iterations) {
  factor_ = 1;
  for (const Slowdown& slowdown : slowdowns_) {
    if (slowdown.at_iteration <= iterations) factor_ = slowdown.factor;
  }
  stretch_ = Stopwatch();
}

void Straggler::catch_up() {
  if (factor_ == 1) return;
  std::this_thread::sleep_for(std::chrono::duration<double>((factor_ - 1) * stretch_.elapsed_s()));
  stretch_ = Stopwatch();
}

}  // namespace thinpipe::trainer

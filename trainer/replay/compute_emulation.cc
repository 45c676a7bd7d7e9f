// SPDX-License-Identifier: Apache-2.0
#include "trainer/replay/compute_emulation.hh"

#include <algorithm>
#include <numeric>
#include <thread>

namespace thinpipe::trainer {

void EmulatedCompute::begin() {
  began_ = std::chrono::steady_clock::now();
  stopwatch_ = {};
}

void EmulatedCompute::reach(double time_s) {
  time_s *= pace_;
  if (mode_ == ComputeEmulation::sleep) {
    std::this_thread::sleep_until(began_ + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                               std::chrono::duration<double>(time_s)));
    return;
  }
  while (stopwatch_.cpu_s() < time_s) work();
}

// Works for some microseconds, so that reading the clock takes only a small part of the time.
void EmulatedCompute::work() {
  constexpr std::size_t read_elements = 8192;
  constexpr int operations = 2048;
  const auto piece = memory_.subspan(next_, std::min(read_elements, memory_.size() - next_));
  next_ = next_ + piece.size() < memory_.size() ? next_ + piece.size() : 0;
  volatile double value = std::reduce(piece.begin(), piece.end(), 1.0F);
  for (int i = 0; i < operations; ++i) value = value * 0.999 + 0.001;
}

}  // namespace thinpipe::trainer

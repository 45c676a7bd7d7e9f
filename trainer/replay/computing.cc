#include "trainer/replay/computing.hh"

#include <thread>

namespace thinpipe::trainer {
namespace {

// Some microseconds of arithmetic, so that looking at the clock is not what takes the time.
void work() {
  constexpr int operations = 4096;
  volatile double value = 1;
  for (int i = 0; i < operations; ++i) value = value * 0.999 + 0.001;
}

}  // namespace

void ComputingTime::reach(double time_s) const {
  if (computing_ == Computing::waits) {
    std::this_thread::sleep_until(began_ + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                               std::chrono::duration<double>(time_s)));
    return;
  }
  while (stopwatch_.processor_s() < time_s) work();
}

}  // namespace thinpipe::trainer

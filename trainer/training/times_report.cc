// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/times_report.hh"

#include <utility>

namespace thinpipe::trainer {
namespace {

constexpr double report_period_s = 0.5;

}  // namespace

void TimesReport::add(const event::WorkerIteration& iteration) {
  unsent_.iterations.push_back(iteration);
  if (iteration.monotonic_s - unsent_.iterations.front().monotonic_s >= report_period_s) flush();
}

void TimesReport::flush() {
  if (unsent_.iterations.empty()) return;
  send_(std::exchange(unsent_, {}));
}

}  // namespace thinpipe::trainer

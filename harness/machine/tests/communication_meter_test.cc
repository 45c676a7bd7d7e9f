// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/communication_meter.hh"

#include <ctime>

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/support/exception.hh"

namespace thinpipe {
namespace {

// Keeps a CPU busy for some of this process's CPU time.
void work_s(double time_s) {
  timespec time{};
  const auto now_s = [&] {
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double until_s = now_s() + time_s;
  while (now_s() < until_s) {
  }
}

// The test's process stands for a worker, and it is the controller, too: its time counts twice.
TEST(CommunicationMeter, MeasuresTheStepsOfEachClass) {
  const netem::AwakeCores awake;
  CommunicationMeter meter(awake);
  EXPECT_THROW(meter.class_times(), Error);
  meter.take(1, event::Started{.pid = ::getpid()});
  meter.take(0, event::Replaying{});
  work_s(0.2);
  meter.take(1, event::ReplayedIteration{});  // only rank 0's count
  meter.take(0, event::ReplayedIteration{});
  work_s(0.01);
  meter.take(0, event::ReplayedIteration{});
  work_s(0.01);
  meter.take(0, event::ReplayedIteration{});
  meter.take(0, event::Replayed{.classes = {{.steps = 5, .iterations = 1}, {.steps = 7, .iterations = 2}}});
  const std::vector<CommunicationMeter::CpuTime> times = meter.class_times();
  ASSERT_EQ(times.size(), 2U);
  EXPECT_GE(times[0].used_s, 0.3);
  EXPECT_LT(times[1].used_s, times[0].used_s / 2);
  EXPECT_GE(times[0].free_s, 0);
}

}  // namespace
}  // namespace thinpipe

// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/cpu_pressure.hh"

#include <gtest/gtest.h>

#include "harness/machine/network_threads.hh"

namespace thinpipe {
namespace {

TEST(CpuPressure, ReadsTheWaitingTimeOfThreadsAndOfTheMachine) {
  const ThreadTimes times = parse_schedstat("1000000000 2500000000 77\n").value();
  EXPECT_EQ(times.ran_s, 1);
  EXPECT_EQ(times.waited_s, 2.5);
  EXPECT_FALSE(parse_schedstat(""));
  EXPECT_EQ(parse_pressure_s("some avg10=1.00 avg60=2.00 avg300=3.00 total=1500000\nfull avg10=0 total=7\n"),
            1.5);
  EXPECT_EQ(parse_pressure_s("full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"), std::nullopt);
  EXPECT_EQ(parse_pressure_s("some avg10=1.00\nfull total=7\n"), std::nullopt);
  EXPECT_EQ(parse_pressure_s(""), std::nullopt);
}

TEST(CpuPressure, IsTheShareOfTimeSpentWaiting) {
  const CpuWaits from{.clock_s = 10, .controller_s = 1, .network_s = 4, .machine_s = std::nullopt};
  const CpuWaits to{.clock_s = 20, .controller_s = 2, .network_s = 8, .machine_s = 5};
  EXPECT_EQ(cpu_pressure(from, to, 2), (Json{{"controller", 0.1}, {"network", 0.2}, {"machine", nullptr}}));
}

TEST(CpuPressure, OfThisMachineDoesNotFall) {
  const CpuWaits before = read_cpu_waits();
  const CpuWaits after = read_cpu_waits();
  EXPECT_GE(after.clock_s, before.clock_s);
  EXPECT_GE(after.controller_s, before.controller_s);
  EXPECT_GE(after.machine_s, before.machine_s);
}

}  // namespace
}  // namespace thinpipe

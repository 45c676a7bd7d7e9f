// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/cpu_usage.hh"

#include <gtest/gtest.h>

#include "common/support/exception.hh"

namespace thinpipe {
namespace {

TEST(CpuUsage, OfTheMachineIsAllButIdlingAndWaiting) {
  const MachineTime time = parse_machine_time("cpu  100 200 300 9000 500 40 60 7 0 0\ncpu0 1 2 3\n", 100);
  EXPECT_DOUBLE_EQ(time.busy_s, 7);
  EXPECT_DOUBLE_EQ(time.soft_interrupts_s, 0.6);
  EXPECT_DOUBLE_EQ(time.stolen_s, 0.07);
  EXPECT_THROW(parse_machine_time("intr 1 2 3", 100), Error);
}

TEST(CpuUsage, OthersHaveWhatIsNotOurs) {
  const CpuUsage from{.clock_s = 10, .machine_s = 100, .own_s = 5};
  EXPECT_DOUBLE_EQ(share_of_others(from, {.clock_s = 20, .machine_s = 115, .own_s = 15}, 2), 0.25);
  EXPECT_EQ(share_of_others(from, {.clock_s = 20, .machine_s = 109, .own_s = 15}, 2), 0)
      << "rounding must not make it negative";
  EXPECT_EQ(share_of_others(from, from, 2), 0);
}

TEST(CpuUsage, OthersMayUseATenth) {
  EXPECT_TRUE(check_other_programs(0.1).ok);
  EXPECT_FALSE(check_other_programs(0.11).ok);
  EXPECT_NE(check_other_programs(0.11).note, "");
}

}  // namespace
}  // namespace thinpipe

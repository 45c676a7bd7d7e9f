// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/cpu_usage.hh"

#include <algorithm>
#include <vector>

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

// How often depends on what else this machine does, so only that the numbers agree is tested.
TEST(CpuUsage, MeasurementsAreRepeatedWhileOthersDisturbThem) {
  int measured = 0;
  std::vector<double> told;
  const auto again = [&](double share) { told.push_back(share); };
  const double share = measure_undisturbed(
      [&] {
        ++measured;
        return true;
      },
      again);
  EXPECT_EQ(measured, 1 + std::ssize(told));
  EXPECT_LE(measured, 3);
  EXPECT_TRUE(share <= max_share_of_others || measured == 3) << share;
  EXPECT_TRUE(std::ranges::all_of(told, [](double each) { return each > max_share_of_others; }));
  told.clear();
  EXPECT_EQ(measure_undisturbed([] { return false; }, again), 0);
  EXPECT_TRUE(told.empty()) << "one that failed is not repeated";
}

TEST(CpuUsage, TheShareOfOthersIsReadFromADevice) {
  EXPECT_EQ(others_share_of({{"cpu", "x"}, {others_share_key, 0.25}}), 0.25);
  EXPECT_EQ(others_share_of({{"cpu", "x"}}), std::nullopt);
  EXPECT_EQ(others_share_of(Json(nullptr)), std::nullopt);
}

}  // namespace
}  // namespace thinpipe

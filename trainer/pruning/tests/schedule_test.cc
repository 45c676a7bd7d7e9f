// SPDX-License-Identifier: Apache-2.0
#include "trainer/pruning/schedule.hh"

#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

PruningSchedule schedule(const PruningScheduleOptions& options) {
  return {options, {"test", "/pruning"}};
}

// Returns every pruning of the first 1000 steps: the number of steps before it, and its ratio.
std::vector<std::pair<int, double>> prunings(const PruningScheduleOptions& options) {
  std::vector<std::pair<int, double>> found;
  for (int iteration = 0; iteration < 1000; ++iteration) {
    if (const auto ratio = schedule(options).due(iteration)) found.emplace_back(iteration, *ratio);
  }
  return found;
}

TEST(PruningSchedule, PrunesOnceBeforeTheFirstStepUnlessToldOtherwise) {
  EXPECT_THAT(prunings({.ratio = 0.5}), ElementsAre(Pair(0, 0.5)));
  EXPECT_THAT(prunings({.ratio = 0.7, .at_iteration = 30}), ElementsAre(Pair(30, 0.7)));
}

TEST(PruningSchedule, NeverPrunesToARatioOfZero) {
  EXPECT_THAT(
      prunings({.ratio = 0, .at_iteration = 3, .ramp_iterations = 50, .update_mask_every_iterations = 7}),
      IsEmpty());
}

TEST(PruningSchedule, RampsUpByTheCube) {
  // 1 - (3/4)^3 = 37/64, 1 - (1/2)^3 = 56/64, 1 - (1/4)^3 = 63/64, 1.
  EXPECT_THAT(prunings({.ratio = 0.64, .at_iteration = 10, .ramp_iterations = 20, .ramp_steps = 4}),
              ElementsAre(Pair(15, DoubleNear(0.37, 1e-12)), Pair(20, DoubleNear(0.56, 1e-12)),
                          Pair(25, DoubleNear(0.63, 1e-12)), Pair(30, 0.64)));
}

TEST(PruningSchedule, SpreadsARampThatDoesNotDivideEvenly) {
  // floor(k·7/3): 2, 4, 7.
  const auto found = prunings({.ratio = 0.9, .at_iteration = 100, .ramp_iterations = 7, .ramp_steps = 3});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].first, 102);
  EXPECT_EQ(found[1].first, 104);
  EXPECT_EQ(found[2], std::pair(107, 0.9));
}

TEST(PruningSchedule, MakesEveryPruningOfEveryRampInOrder) {
  for (int length = 1; length <= 40; ++length) {
    for (int steps = 1; steps <= length; ++steps) {
      const auto found =
          prunings({.ratio = 0.8, .at_iteration = 5, .ramp_iterations = length, .ramp_steps = steps});
      ASSERT_EQ(found.size(), static_cast<std::size_t>(steps)) << length;
      for (int k = 1; k <= steps; ++k) EXPECT_EQ(found[k - 1].first, 5 + k * length / steps);
      EXPECT_EQ(found.back(), std::pair(5 + length, 0.8));
    }
  }
}

TEST(PruningSchedule, ChoosesAgainAtTheFinalRatioOnly) {
  EXPECT_THAT(prunings({.ratio = 0.5, .at_iteration = 10, .update_mask_every_iterations = 400}),
              ElementsAre(Pair(10, 0.5), Pair(410, 0.5), Pair(810, 0.5)));
  const auto found =
      prunings({.ratio = 0.5, .ramp_iterations = 100, .ramp_steps = 2, .update_mask_every_iterations = 450});
  ASSERT_EQ(found.size(), 3U);  // the next would be after 1000 steps
  EXPECT_EQ(found[1], std::pair(100, 0.5));
  EXPECT_EQ(found[2], std::pair(550, 0.5));
}

TEST(PruningSchedule, SaysWhatRatioAStepIsTakenWith) {
  const PruningSchedule ramp =
      schedule({.ratio = 0.64, .at_iteration = 10, .ramp_iterations = 20, .ramp_steps = 4});
  EXPECT_EQ(ramp.ratio_at(0), 0);
  EXPECT_EQ(ramp.ratio_at(14), 0);
  EXPECT_NEAR(ramp.ratio_at(15), 0.37, 1e-12);
  EXPECT_NEAR(ramp.ratio_at(29), 0.63, 1e-12);
  EXPECT_EQ(ramp.ratio_at(30), 0.64);
  EXPECT_EQ(ramp.end(), 30);
  // 15 steps of 0, then 5 each of 37/64, 56/64 and 63/64, then 10 of 1.
  EXPECT_NEAR(ramp.mean_share(40), (5 * (37 + 56 + 63) / 64.0 + 10) / 40, 1e-12);
  EXPECT_EQ(ramp.mean_share(15), 0);
  EXPECT_EQ(schedule({.ratio = 0.3}).mean_share(77), 1);
}

TEST(PruningSchedule, RefusesMorePruningsThanSteps) {
  EXPECT_THROW(schedule({.ratio = 0.5, .ramp_iterations = 3, .ramp_steps = 4}), InputError);
  EXPECT_NO_THROW(schedule({.ratio = 0.5, .ramp_iterations = 0, .ramp_steps = 4}));
}

}  // namespace
}  // namespace thinpipe::trainer

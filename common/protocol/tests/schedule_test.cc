// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/schedule.hh"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe {
namespace {

using ::testing::SizeIs;

Exchange gather_of(std::int64_t first, std::int64_t second, std::size_t layout = 0) {
  return {.layout = layout,
          .buckets = {{AllGatherCall{.type = ElementType::uint8, .counts = {first, second}}}}};
}

// Returns a trace of two workers with equal steps.
CommunicationTrace trace_of(std::vector<Exchange> exchanges, const std::vector<StepRun>& steps) {
  return {.world_size = 2,
          .parameters = {{"weight", 10}},
          .layouts = {{{.parameters = {0}}}, {{.parameters = {0}}}},
          .exchanges = std::move(exchanges),
          .workers = {steps, steps}};
}

TEST(Schedule, OfEqualStepsHasTheFirstAndOneClassWithOneSample) {
  const Schedule schedule = schedule_of(trace_of({gather_of(100, 100)}, {{0, 40}}));
  ASSERT_THAT(schedule.classes, SizeIs(2));
  EXPECT_EQ(schedule.classes[0].steps, 1);
  EXPECT_EQ(schedule.classes[1].steps, 39);
  EXPECT_THAT(schedule.classes[1].samples, SizeIs(1));
  EXPECT_EQ(schedule.classes[1].samples, schedule.classes[0].samples);
  EXPECT_DOUBLE_EQ(schedule.train_time_s(40, {2, 0.5}), 2 + 39 * 0.5);
}

TEST(Schedule, OfOneStepHasOneClass) {
  EXPECT_THAT(schedule_of(trace_of({gather_of(100, 100)}, {{0, 1}})).classes, SizeIs(1));
}

TEST(Schedule, TellsLayoutsAndLocalStepsApart) {
  const Schedule schedule = schedule_of(trace_of({gather_of(9, 9), gather_of(9, 9, 1)},
                                                 {{0, 1}, {std::nullopt, 3}, {1, 1}, {std::nullopt, 3}}));
  ASSERT_THAT(schedule.classes, SizeIs(3));
  EXPECT_EQ(schedule.classes[1].steps, 6);
  EXPECT_FALSE(schedule.classes[1].samples[0][0]);
  EXPECT_DOUBLE_EQ(schedule.train_time_s(5, {10, 1, 100}), 10 + 3 + 100);
  EXPECT_DOUBLE_EQ(schedule.train_time_s(8, {10, 1, 100}), 10 + 6 + 100);
  EXPECT_DOUBLE_EQ(schedule.train_time_s(2, {10, 1, 100}), 11);
}

TEST(Schedule, PutsStepsOfAboutAsManyBytesTogether) {
  const Schedule schedule = schedule_of(trace_of(
      {gather_of(1000, 1000), gather_of(1010, 1005), gather_of(4000, 4000)}, {{0, 5}, {1, 5}, {2, 5}}));
  ASSERT_THAT(schedule.classes, SizeIs(3));
  EXPECT_THAT(schedule.classes[1].samples, SizeIs(9));
  EXPECT_EQ(schedule.classes[2].steps, 5);
}

TEST(Schedule, SpreadsItsSamplesOverTheTraining) {
  std::vector<Exchange> exchanges;
  std::vector<StepRun> steps;
  for (std::size_t i = 0; i < 160; ++i) {
    exchanges.push_back(gather_of(100'000 + static_cast<std::int64_t>(i), 100'000));
    steps.push_back({i, 1});
  }
  const Schedule schedule = schedule_of(trace_of(std::move(exchanges), steps));
  ASSERT_THAT(schedule.classes, SizeIs(2));
  ASSERT_THAT(schedule.classes[1].samples, SizeIs(16));
  // The middles of its sixteenths. Also the first few are spread.
  EXPECT_EQ(schedule.classes[1].samples[0][0], 5U);
  EXPECT_EQ(schedule.classes[1].samples[1][0], 85U);
  EXPECT_EQ(schedule.classes[1].samples[2][0], 45U);
  EXPECT_EQ(schedule.classes[1].samples[15][1], 155U);
}

// A ramp of pruning gives twenty steps that differ; the three hundred after it are equal.
TEST(Schedule, SamplesOccurAsOftenAsTheirSteps) {
  std::vector<Exchange> exchanges;
  std::vector<StepRun> steps = {{0, 1}};
  for (std::size_t i = 0; i <= 20; ++i) {
    exchanges.push_back(gather_of(100'200 - static_cast<std::int64_t>(i), 100'000));
    steps.push_back({i, i < 20 ? 1 : 300});
  }
  const Schedule schedule = schedule_of(trace_of(std::move(exchanges), steps));
  ASSERT_THAT(schedule.classes, SizeIs(2));
  EXPECT_EQ(std::ranges::count(schedule.classes[1].samples, JointStep{20, 20}), 15);
  EXPECT_THAT(schedule.classes[1].samples, SizeIs(16));
}

Exchange over(std::int64_t steps) {
  Exchange exchange = gather_of(9, 9);
  exchange.overlap_steps = steps;
  return exchange;
}

TEST(Schedule, GivesAnExchangeTheStepsThatItOverlapsWith) {
  // Begins at the ends of steps 3 and 6; the second begins when the first one ends.
  const Schedule schedule = schedule_of(
      trace_of({over(3)}, {{std::nullopt, 2}, {0, 1}, {std::nullopt, 2}, {0, 1}, {std::nullopt, 4}}));
  ASSERT_THAT(schedule.classes, SizeIs(3)) << "the first step, local steps and exchanges";
  EXPECT_EQ(schedule.classes[1].steps, 2 + 1);
  EXPECT_EQ(schedule.classes[1].steps_per_sample, 1);
  EXPECT_EQ(schedule.classes[2].steps, 6);
  EXPECT_EQ(schedule.classes[2].steps_per_sample, 3);
  EXPECT_EQ(schedule.classes[2].samples, (std::vector<JointStep>{{0, 0}}));
  EXPECT_DOUBLE_EQ(schedule.train_time_s(3, {10, 1, 100}), 12);
  EXPECT_DOUBLE_EQ(schedule.train_time_s(10, {10, 1, 100}), 12 + 600 + 1);
}

TEST(Schedule, TakesAnExchangeInEachStepThatOverlapsWithTheNext) {
  const Schedule schedule = schedule_of(trace_of({over(1)}, {{0, 5}, {std::nullopt, 1}}));
  ASSERT_THAT(schedule.classes, SizeIs(2));
  EXPECT_FALSE(schedule.classes[0].samples[0][0]);
  EXPECT_EQ(schedule.classes[1].steps, 5);
}

TEST(Schedule, RefusesExchangesThatOverlapWithEachOther) {
  EXPECT_THROW(schedule_of(trace_of({over(2)}, {{0, 2}, {std::nullopt, 2}})), Error);
  EXPECT_THROW(schedule_of(trace_of({over(2), gather_of(9, 9)}, {{0, 1}, {std::nullopt, 1}, {1, 1}})), Error);
  EXPECT_THROW(schedule_of(trace_of({over(2)}, {{0, 1}, {std::nullopt, 1}})), Error)
      << "and one without an end";
  CommunicationTrace trace = trace_of({over(2), over(1)}, {});
  trace.workers = {{{0, 1}, {std::nullopt, 2}}, {{1, 1}, {std::nullopt, 2}}};
  EXPECT_THROW(schedule_of(trace), Error);
}

TEST(Schedule, KeepsWhatEachWorkerDoes) {
  CommunicationTrace trace = trace_of({gather_of(100, 101), gather_of(101, 100)}, {});
  trace.workers = {{{0, 3}, {1, 1}}, {{0, 1}, {1, 3}}};
  const Schedule schedule = schedule_of(trace);
  ASSERT_THAT(schedule.classes, SizeIs(2));
  EXPECT_EQ(schedule.classes[0].samples, (std::vector<JointStep>{{0, 0}}));
  EXPECT_EQ(schedule.classes[1].steps, 3);
  EXPECT_EQ(schedule.classes[1].samples, (std::vector<JointStep>{{0, 1}, {1, 1}, {0, 1}}));
}

}  // namespace
}  // namespace thinpipe

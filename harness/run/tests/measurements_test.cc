// SPDX-License-Identifier: Apache-2.0
#include "harness/run/measurements.hh"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

event::IterationTimes times_of(double time_s, double train_time_s) {
  return {.train_time_s = train_time_s,
          .iteration_time_s = time_s,
          .load_s = 0.05 * time_s,
          .compute_s = 0.5 * time_s,
          .encode_s = 0.1 * time_s,
          .exchange_s = 0.3 * time_s,
          .decode_s = 0.1 * time_s,
          .exposed_exchange_s = 0.2 * time_s,
          .cpu_s = 0.4 * time_s};
}

event::Iteration iteration(std::int64_t number, double time_s, double train_time_s) {
  return {.iteration = number,
          .times = times_of(time_s, train_time_s),
          .payload_bytes = 100,
          .sent_bytes = 175.5,
          .delivered_bytes = 90};
}

event::Evaluation evaluation(std::int64_t number, double train_time_s, double accuracy) {
  return {.iteration = number,
          .train_time_s = train_time_s,
          .train_loss = 2,
          .test_loss = 1.5,
          .test_accuracy = accuracy};
}

TEST(Quantile, InterpolatesBetweenOrderStatistics) {
  EXPECT_DOUBLE_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_DOUBLE_EQ(quantile({1, 2, 3, 4}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile({0, 10}, 0.9), 9);
  EXPECT_DOUBLE_EQ(quantile({7}, 0.9), 7);
}

TEST(Measurements, SumsBytesAndAveragesTimes) {
  Measurements measurements;
  EXPECT_EQ(measurements.iteration_time_s(), std::nullopt);
  measurements.add(evaluation(0, 0, 0.1));
  measurements.add(iteration(1, 1, 1));
  measurements.add(iteration(2, 3, 4));
  EXPECT_EQ(measurements.iterations(), 2);
  EXPECT_DOUBLE_EQ(measurements.train_time_s(), 4);
  EXPECT_EQ(measurements.payload_bytes(), 200);
  EXPECT_DOUBLE_EQ(measurements.sent_bytes().value(), 351);
  EXPECT_EQ(measurements.delivered_bytes(), 180);
  const record::IterationTime times = measurements.iteration_time_s().value();
  EXPECT_DOUBLE_EQ(times.mean, 2);
  EXPECT_DOUBLE_EQ(times.p50, 2);
  EXPECT_DOUBLE_EQ(times.p90, 2.8);
  EXPECT_DOUBLE_EQ(times.load.value(), 0.1);
  EXPECT_DOUBLE_EQ(times.compute.value(), 1);
  EXPECT_DOUBLE_EQ(times.exposed_exchange.value(), 0.4);
  EXPECT_EQ(measurements.curve().size(), 1);
}

TEST(Measurements, OfReplaysAreNotOfWhatStandsForTheFirstStep) {
  Measurements measurements;
  measurements.add(
      event::ReplayedIteration{.iteration = 1, .represents_first_step = true, .times = times_of(9, 9)});
  EXPECT_EQ(measurements.iteration_time_s(), std::nullopt);
  EXPECT_DOUBLE_EQ(measurements.train_time_s(), 9);
  measurements.add(event::ReplayedIteration{.iteration = 2, .times = times_of(1, 10)});
  EXPECT_DOUBLE_EQ(measurements.iteration_time_s()->mean, 1);
  EXPECT_DOUBLE_EQ(measurements.train_time_s(), 10);
}

// Nine of ten steps are local: a replay of two of each kind must not look as if every other step exchanged.
TEST(Measurements, OfReplaysCountEachClassAsOftenAsItOccurs) {
  Measurements measurements;
  measurements.add(
      event::ReplayedIteration{.iteration = 1, .represents_first_step = true, .times = times_of(9, 9)});
  double train_time_s = 9;
  for (const double time_s : {1.0, 1.0, 11.0, 13.0}) {
    train_time_s += time_s;
    measurements.add(event::ReplayedIteration{.iteration = 2, .times = times_of(time_s, train_time_s)});
  }
  EXPECT_DOUBLE_EQ(measurements.iteration_time_s()->mean, 6.5) << "until the replay ends";
  measurements.add(event::Replayed{
      {{.steps = 1, .iterations = 1}, {.steps = 90, .iterations = 2}, {.steps = 10, .iterations = 2}}});
  const record::IterationTime times = measurements.iteration_time_s().value();
  EXPECT_DOUBLE_EQ(times.mean, 0.9 * 1 + 0.1 * 12);
  EXPECT_DOUBLE_EQ(times.p50, 1);
  EXPECT_DOUBLE_EQ(times.p90, 1) << "90 of 100 steps";
}

// In a convergence run.
TEST(Measurements, IterationsWithoutTimesCount) {
  Measurements measurements;
  measurements.add(event::Iteration{.iteration = 1, .payload_bytes = 100, .sent_bytes = 175.5});
  EXPECT_EQ(measurements.iterations(), 1);
  EXPECT_EQ(measurements.payload_bytes(), 100);
  EXPECT_EQ(measurements.iteration_time_s(), std::nullopt);
}

// Parts that an external trainer cannot measure separately.
TEST(Measurements, AnUnknownPartStaysUnknown) {
  Measurements measurements;
  measurements.add(iteration(1, 1, 1));
  event::Iteration untold = iteration(2, 3, 4);
  untold.times->exchange_s.reset();
  measurements.add(untold);
  measurements.add(iteration(3, 1, 5));
  EXPECT_EQ(measurements.iteration_time_s()->exchange, std::nullopt);
  EXPECT_DOUBLE_EQ(measurements.iteration_time_s()->load.value(), 0.25 / 3);
}

TEST(Measurements, TheCurveHasTheEvaluationsMembers) {
  Measurements measurements;
  event::Evaluation first = evaluation(0, 0, 0.1);
  first.train_loss.reset();
  first.others = {{"rank", 0}};
  measurements.add(first);
  const record::CurvePoint point = {.iteration = 0,
                                    .epoch = 0,
                                    .train_time_s = 0,
                                    .train_loss = {},
                                    .test_loss = 1.5,
                                    .test_accuracy = 0.1};
  EXPECT_EQ(measurements.curve(), std::vector{point});
}

TEST(Measurements, GoingBackDropsTheCurvesEndButNotWhatWasDone) {
  Measurements measurements;
  measurements.add(evaluation(0, 0, 0.1));
  for (const int number : {1, 2, 3}) measurements.add(iteration(number, 1, number));
  measurements.add(evaluation(2, 2, 0.2));
  measurements.add(evaluation(3, 3, 0.3));
  measurements.go_back_to(2);
  EXPECT_EQ(measurements.iterations(), 2);
  EXPECT_EQ(measurements.curve().back().iteration, 2);
  measurements.add(iteration(3, 2, 5));
  EXPECT_EQ(measurements.iterations(), 3);
  EXPECT_EQ(measurements.payload_bytes(), 400);
  EXPECT_DOUBLE_EQ(measurements.iteration_time_s()->mean, 1.25) << "of all four";
  measurements.go_back_to(-1);
  EXPECT_EQ(measurements.iterations(), 0);
  EXPECT_TRUE(measurements.curve().empty());
}

}  // namespace
}  // namespace thinpipe

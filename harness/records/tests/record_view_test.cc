// SPDX-License-Identifier: Apache-2.0
#include "harness/records/record_view.hh"

#include <cmath>

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

using Metric = Target::Metric;

record::CurvePoint evaluation(std::int64_t iteration, double train_time_s, std::optional<double> accuracy) {
  return {.iteration = iteration, .train_time_s = train_time_s, .test_accuracy = accuracy};
}

TEST(Targets, AreReachedAtTheFirstEvaluationAtOrAboveThem) {
  const std::vector<record::CurvePoint> curve = {
      evaluation(0, 0, 0.1), evaluation(20, 5, std::nullopt),  // no accuracy, because the loss is not finite
      evaluation(40, 9, 0.8), evaluation(60, 12, 0.7)};
  const record::HeldTarget held{.evaluations = 1, .reached = true, .iteration = 40, .train_time_s = 9};
  EXPECT_EQ(
      reach_target(curve, {.value = 0.8}, 1),
      (record::TargetResult{
          .target = {.value = 0.8}, .reached = true, .iteration = 40, .train_time_s = 9, .held = held}));
  const record::HeldTarget never{.evaluations = 1};
  EXPECT_EQ(reach_target(curve, {.value = 0.9}, 1),
            (record::TargetResult{.target = {.value = 0.9}, .held = never}));
}

TEST(Targets, AreHeldFromTheFirstOfSuccessiveEvaluationsAtThem) {
  const std::vector<record::CurvePoint> curve = {evaluation(0, 0, 0.1),  evaluation(10, 1, 0.8),
                                                 evaluation(20, 2, 0.7), evaluation(30, 3, 0.8),
                                                 evaluation(40, 4, 0.9), evaluation(50, 5, 0.8),
                                                 evaluation(60, 6, 0.8), evaluation(70, 7, std::nullopt)};
  const auto result = [&curve](std::int64_t hold) { return reach_target(curve, {.value = 0.8}, hold); };
  EXPECT_EQ(result(3).iteration, 10) << "the first touch";
  EXPECT_EQ(result(3).held->iteration, 30);
  EXPECT_EQ(result(3).held->train_time_s, 3);
  EXPECT_EQ(result(4).held->iteration, 30);
  EXPECT_FALSE(result(5).held->reached) << "the run ended, or lost its level, before";
  EXPECT_TRUE(result(5).reached);
  EXPECT_EQ(result(1).held->iteration, 10);
}

TEST(Targets, OfRecordsOlderThanHoldingCountFromTheFirstEvaluation) {
  EXPECT_EQ(hold_of(Json::object()), 1);
  EXPECT_EQ(hold_of({{"hold", 3}}), 3);
  EXPECT_EQ(hold_of({{"hold", "long"}}), 1);
}

TEST(Targets, MeasureTextsByTheLoss) {
  const record::CurvePoint point{.test_loss = 1.3862943611198906, .test_accuracy = 0.25};
  EXPECT_EQ(level_of(Metric::accuracy, point), 0.25);
  EXPECT_EQ(level_of(Metric::test_loss, point), 1.3862943611198906);
  EXPECT_DOUBLE_EQ(level_of(Metric::bits_per_byte, point).value(), 2);
  EXPECT_DOUBLE_EQ(level_of(Metric::perplexity, point).value(), 4);
}

TEST(Targets, WhatWasNotFiniteReachesNothing) {
  EXPECT_FALSE(reach_target({{.test_accuracy = 0.25}}, {Metric::test_loss, 100}, 1).reached);
  EXPECT_FALSE(reach_target({{.test_accuracy = 0.25}}, {Metric::bits_per_byte, 100}, 1).reached);
  EXPECT_FALSE(reach_target({{.test_accuracy = 0.25}}, {Metric::perplexity, 100}, 1).reached);
}

TEST(Targets, ALossWhoseLevelIsBeyondDoublesHasNone) {
  EXPECT_EQ(level_of(Metric::perplexity, {.test_loss = 710}), std::nullopt);
  EXPECT_EQ(level_of(Metric::bits_per_byte, {.test_loss = 1.5e308}), std::nullopt);
  EXPECT_EQ(level_of(Metric::test_loss, {.test_loss = 710}), 710);
  EXPECT_DOUBLE_EQ(level_of(Metric::perplexity, {.test_loss = 709}).value(), std::exp(709));
}

TEST(FinalAccuracy, IsThatOfTheLastEvaluation) {
  EXPECT_EQ(final_accuracy({}), std::nullopt);
  EXPECT_EQ(final_accuracy({evaluation(0, 0, 0.1), evaluation(20, 5, 0.8)}), 0.8);
  EXPECT_EQ(final_accuracy({evaluation(0, 0, 0.1), evaluation(20, 5, std::nullopt)}), std::nullopt);
}

}  // namespace
}  // namespace thinpipe

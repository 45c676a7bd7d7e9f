#include "harness/records/record_view.hh"

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
  EXPECT_EQ(
      reach_target(curve, {.value = 0.8}),
      (record::TargetResult{.target = {.value = 0.8}, .reached = true, .iteration = 40, .train_time_s = 9}));
  EXPECT_EQ(reach_target(curve, {.value = 0.9}), (record::TargetResult{.target = {.value = 0.9}}));
}

TEST(Targets, MeasureBitsAsLossOverLnTwo) {
  const record::CurvePoint point{.test_loss = 1.3862943611198906, .test_accuracy = 0.25};
  EXPECT_EQ(level_of(Metric::accuracy, point), 0.25);
  EXPECT_EQ(level_of(Metric::test_loss, point), 1.3862943611198906);
  EXPECT_DOUBLE_EQ(level_of(Metric::bits_per_byte, point).value(), 2);
}

TEST(Targets, WhatWasNotFiniteReachesNothing) {
  EXPECT_FALSE(reach_target({{.test_accuracy = 0.25}}, {Metric::test_loss, 100}).reached);
  EXPECT_FALSE(reach_target({{.test_accuracy = 0.25}}, {Metric::bits_per_byte, 100}).reached);
}

TEST(FinalAccuracy, IsThatOfTheLastEvaluation) {
  EXPECT_EQ(final_accuracy({}), std::nullopt);
  EXPECT_EQ(final_accuracy({evaluation(0, 0, 0.1), evaluation(20, 5, 0.8)}), 0.8);
  EXPECT_EQ(final_accuracy({evaluation(0, 0, 0.1), evaluation(20, 5, std::nullopt)}), std::nullopt);
}

}  // namespace
}  // namespace thinpipe

// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/learning_rate.hh"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<double> shares(const ScheduleOptions& options, std::int64_t iterations,
                           std::int64_t iterations_per_epoch = 4) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < iterations; ++i) {
    out.push_back(learning_rate_share(options, i, iterations, iterations_per_epoch));
  }
  return out;
}

TEST(LearningRate, IsConstantByDefault) {
  EXPECT_THAT(shares({}, 5), ::testing::Each(1.0));
}

TEST(LearningRate, WarmsUpInEqualSteps) {
  EXPECT_THAT(shares({.warmup_iterations = 4}, 6), ::testing::ElementsAre(0.25, 0.5, 0.75, 1, 1, 1));
}

TEST(LearningRate, FallsAtEpochs) {
  // Four iterations per epoch: epoch 1 begins with iteration 4, epoch 1.5 with iteration 6.
  EXPECT_THAT(shares({.shape = "step", .step_epochs = {1, 1.5}, .step_factor = 0.5}, 8),
              ::testing::ElementsAre(1, 1, 1, 1, 0.5, 0.5, 0.25, 0.25));
}

TEST(LearningRate, FollowsHalfAWaveAfterTheWarmUp) {
  const std::vector<double> rates =
      shares({.shape = "cosine", .warmup_iterations = 2, .final_share = 0.2}, 10);
  EXPECT_DOUBLE_EQ(rates[1], 1);
  EXPECT_DOUBLE_EQ(rates[2], 1);
  EXPECT_DOUBLE_EQ(rates[6], 0.6);  // in the middle of iterations 2 to 10
  EXPECT_NEAR(rates[9], 0.2 + 0.8 * (1 + std::cos(std::acos(-1.0) * 7 / 8)) / 2, 1e-15);
  EXPECT_TRUE(std::is_sorted(rates.rbegin(), rates.rend() - 1));
}

TEST(LearningRate, RefusesContradictions) {
  const Place place{"experiment.json", "/schedule"};
  EXPECT_NO_THROW(check_schedule({}, place));
  EXPECT_THAT([&] { check_schedule({.shape = "step"}, place); },
              ThrowsMessage<InputError>(HasSubstr("step_epochs")));
  EXPECT_THAT([&] { check_schedule({.shape = "cosine", .step_epochs = {3}}, place); },
              ThrowsMessage<InputError>(HasSubstr("is only for shape step")));
  EXPECT_THAT(
      [&] {
        check_schedule({.shape = "step", .step_epochs = {30, 20}}, place);
      },
      ThrowsMessage<InputError>(HasSubstr("ascend")));
}

}  // namespace
}  // namespace thinpipe::trainer

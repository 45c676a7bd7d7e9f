// SPDX-License-Identifier: Apache-2.0
#include "trainer/replay/sample_count.hh"

#include <initializer_list>

#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

SampleMean mean_of(std::initializer_list<double> times_s) {
  SampleMean mean;
  for (const double time_s : times_s) mean.add(time_s);
  return mean;
}

TEST(SampleCount, DoublesUntilTheMeanIsKnown) {
  EXPECT_EQ(next_sample_count(mean_of({0.1, 0.2, 0.3}), 1, 1), 6);
  EXPECT_EQ(next_sample_count(mean_of({0.1, 0.1, 0.1}), 1, 1), 3);
}

TEST(SampleCount, TakesEachSampleOfTheClass) {
  EXPECT_EQ(next_sample_count(mean_of({0.1, 0.1, 0.1}), 16, 1), 16);
}

// A sample of an exchange that overlaps with ten steps takes ten times as long as a step.
TEST(SampleCount, HasLimitsOfTimeAndIterations) {
  EXPECT_EQ(next_sample_count(mean_of({6, 7, 8}), 16, 1), 8);
  EXPECT_LE(next_sample_count(mean_of({30, 35, 40}), 16, 1), 3);
  EXPECT_LE(next_sample_count(mean_of({1, 2, 3}), 16, 10), 3);
  EXPECT_EQ(next_sample_count(mean_of({0.001, 0.002, 0.003}), 1, 50), 3);
  SampleMean many;
  for (int i = 0; i < 96; ++i) many.add(i % 2);
  EXPECT_EQ(next_sample_count(many, 1, 1), 120) << "half a second each";
  EXPECT_EQ(next_sample_count(mean_of({0, 0, 0}), 1, 1), 3) << "the mean of nothing is known";
}

}  // namespace
}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/sample_mean.hh"

#include <cmath>

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

SampleMean of(std::initializer_list<double> values) {
  SampleMean mean;
  for (const double value : values) mean.add(value);
  return mean;
}

TEST(SampleMean, IsKnownToNothingBelowTwoValues) {
  EXPECT_EQ(of({}).count(), 0);
  EXPECT_EQ(of({3}).mean(), 3);
  EXPECT_FALSE(of({3}).half_width());
}

// From a table of Student's t: 4.3027 for 2 degrees of freedom. The standard error is 1/sqrt(3).
TEST(SampleMean, HasStudentsInterval) {
  const SampleMean mean = of({1, 2, 3});
  EXPECT_DOUBLE_EQ(mean.mean(), 2);
  EXPECT_NEAR(mean.half_width().value(), 4.3027 / std::sqrt(3.0), 1e-4);
}

TEST(SampleMean, OfEqualValuesIsExact) {
  EXPECT_EQ(of({0.5, 0.5, 0.5, 0.5}).half_width(), 0);
}

TEST(SampleMean, LosesNoDigitsFarFromZero) {
  const SampleMean near = of({1, 2, 3, 4});
  const SampleMean far = of({1e9 + 1, 1e9 + 2, 1e9 + 3, 1e9 + 4});
  EXPECT_NEAR(far.half_width().value(), near.half_width().value(), 1e-6);
}

}  // namespace
}  // namespace thinpipe

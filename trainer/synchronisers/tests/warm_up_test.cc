// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/warm_up.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

using ::testing::ElementsAre;

std::vector<double> ratios(const WarmUp& warm_up, std::uint64_t steps) {
  std::vector<double> out;
  for (std::uint64_t step = 1; step <= steps; ++step) out.push_back(warm_up.ratio(step));
  return out;
}

TEST(WarmUp, ComesDownByQuartersInEqualStages) {
  EXPECT_THAT(ratios(WarmUp(0.01, 6), 8),
              ElementsAre(0.25, 0.25, 0.0625, 0.0625, 0.015625, 0.015625, 0.01, 0.01));
  EXPECT_THAT(ratios(WarmUp(0.1, 2), 3), ElementsAre(0.25, 0.25, 0.1));
}

TEST(WarmUp, BeforeTheFirstStepIsAsInIt) {
  EXPECT_EQ(WarmUp(0.01, 6).ratio(0), 0.25);
}

TEST(WarmUp, ChangesNothingWithoutStepsOrAtARatioAboveItsStages) {
  for (const WarmUp& none : {WarmUp(0.01, 0), WarmUp(0.3, 4)}) {
    EXPECT_FALSE(none.changes_the_ratio());
    EXPECT_THAT(ratios(none, 2), ElementsAre(none.steady_state_ratio(), none.steady_state_ratio()));
  }
  EXPECT_TRUE(WarmUp(0.01, 1).changes_the_ratio());
}

}  // namespace
}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
#include "netem/topology/train_clock.hh"

#include <gtest/gtest.h>

namespace thinpipe::netem {
namespace {

TEST(TrainClock, PassesWhileAnIterationRunsAndStandsStillBetweenTwo) {
  TrainClock clock;
  EXPECT_EQ(clock.read_s(1000), 0) << "before the first iteration";
  clock.run(0, 1000);
  EXPECT_EQ(clock.read_s(1000.5), 0.5);
  EXPECT_EQ(clock.read_s(999), 0) << "not before the start";
  clock.stop(0.75);
  EXPECT_FALSE(clock.runs());
  EXPECT_EQ(clock.read_s(1030), 0.75) << "during an evaluation";
  clock.run(0.75, 1030);
  EXPECT_TRUE(clock.runs());
  EXPECT_EQ(clock.read_s(1031), 1.75);
}

TEST(TrainClock, IsSetByWhoKnowsBetter) {
  TrainClock clock;
  clock.run(0, 1000);
  EXPECT_EQ(clock.read_s(1001.25), 1.25);
  clock.stop(1);
  EXPECT_EQ(clock.read_s(1001.25), 1) << "the end was reported late";
}

}  // namespace
}  // namespace thinpipe::netem

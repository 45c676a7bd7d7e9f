// SPDX-License-Identifier: Apache-2.0
#include "harness/run/network/iteration_reports.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe {
namespace {

using testing::HasSubstr;

event::IterationStarted start_of(std::int64_t iteration, double train_time_s, double monotonic_s) {
  return {.iteration = iteration, .train_time_s = train_time_s, .monotonic_s = monotonic_s};
}

event::Iteration end_of(std::int64_t iteration, double train_time_s) {
  return {.iteration = iteration, .times = event::IterationTimes{.train_time_s = train_time_s}};
}

class IterationReportsTest : public testing::Test {
 protected:
  std::string refusal(const auto& event, double now_s) {
    try {
      reports_.take(event, now_s);
    } catch (const InvalidEvent& error) {
      return error.what();
    }
    return "taken";
  }

  netem::TrainClock clock_;
  IterationReports reports_{clock_, 100};
};

TEST_F(IterationReportsTest, TheClockHasTheTrainersTimesHoweverLateTheyAreHeard) {
  EXPECT_FALSE(clock_.runs());
  reports_.take(start_of(1, 0, 102), 102.25);
  EXPECT_EQ(clock_.read_s(102.5), 0.5) << "since the start, not since its report";
  reports_.take(end_of(1, 0.75), 103);
  EXPECT_EQ(clock_.read_s(103), 0.75);
  reports_.take(start_of(2, 0.75, 110), 110);
  reports_.take(end_of(2, 1.75), 111);
  EXPECT_EQ(clock_.read_s(120), 1.75);
  const Json late = reports_.to_json().at("stop_delay");
  EXPECT_EQ(late.at("count"), 2);
  EXPECT_EQ(late.at("median_s"), 0);
  EXPECT_EQ(late.at("max_s"), 0.25);
}

TEST_F(IterationReportsTest, AnEndWithoutAStartIsRefusedWithTheRemedy) {
  EXPECT_EQ(refusal(end_of(1, 0.5), 101),
            "reported the end of iteration 1 but not its start, which a rate trace that follows train time "
            "needs: report \"iteration_started\" before each iteration (docs/reference/trainers.md), or set "
            "rate_trace.clock to \"wall\"");
  EXPECT_EQ(reports_.to_json().at("stop_delay"),
            Json({{"count", 0}, {"median_s", nullptr}, {"p99_s", nullptr}, {"max_s", nullptr}}));
}

TEST_F(IterationReportsTest, AnEndWithoutTimesIsRefused) {
  reports_.take(start_of(1, 0, 101), 101);
  EXPECT_THAT(refusal(event::Iteration{.iteration = 1}, 102), HasSubstr("must not be null"));
}

TEST_F(IterationReportsTest, AStartThatCannotBeIsRefused) {
  EXPECT_THAT(refusal(start_of(1, 0.5, 101), 101), HasSubstr("ended at 0.000000"));
  EXPECT_THAT(refusal(start_of(1, 0, 3.5), 101), HasSubstr("must be the time by CLOCK_MONOTONIC"));
  EXPECT_THAT(refusal(start_of(1, 0, 102), 101), HasSubstr("from 100.000000 to 101.000000"));
  EXPECT_EQ(refusal(start_of(1, 0, 101), 101), "taken");
  EXPECT_THAT(refusal(start_of(2, 0, 101), 101), HasSubstr("before the end of the previous one"));
  EXPECT_EQ(refusal(end_of(1, 1), 102), "taken");
  EXPECT_THAT(refusal(start_of(2, 0, 102), 102), HasSubstr("ended at 1.000000"));
  EXPECT_THAT(refusal(start_of(2, 1, 100.5), 102), HasSubstr("from 101.000000")) << "before the first one";
  EXPECT_EQ(refusal(start_of(2, 1.0004, 102.0004), 102), "taken") << "rounded";
}

TEST_F(IterationReportsTest, GoesOnWhereTheClockWasSetBack) {
  reports_.take(start_of(1, 0, 101), 101);
  reports_.take(end_of(1, 1), 102);
  reports_.take(start_of(2, 1, 102), 102);
  clock_.stop(1);  // the iteration was cut short
  EXPECT_EQ(refusal(start_of(1, 1, 110), 110), "taken");
}

}  // namespace
}  // namespace thinpipe

// SPDX-License-Identifier: Apache-2.0
#include "harness/run/event_recorder.hh"

#include <gtest/gtest.h>

#include "harness/run/tests/made_run.hh"
#include "harness/run/tests/recording.hh"

namespace thinpipe {
namespace {

TEST(EventRecorder, TrainingBeginsOnceWithTheFirstEvaluation) {
  Recording recording(Mode::live);
  recording.recorder().add(0, event::Started{.pid = 7});
  EXPECT_FALSE(recording.recorder().has_begun());
  recording.recorder().add(0, evaluation_after(0, 0, 0.1));
  EXPECT_TRUE(recording.recorder().has_begun());
  recording.recorder().add(0, evaluation_after(2, 2, 0.6));
  EXPECT_EQ(recording.beginnings(), 1);
}

TEST(EventRecorder, RecordsIterationsOfRankZeroAndTheEndOfEveryWorker) {
  Recording recording(Mode::live);
  recording.recorder().add(0, iteration_after(1, 1));
  recording.recorder().add(1, iteration_after(1, 5));
  recording.recorder().add(1, event::Finished{.peak_memory_bytes = 5000});
  ASSERT_EQ(recording.lines().size(), 1);
  EXPECT_EQ(recording.lines().front().at("train_time_s"), 1);
  EXPECT_EQ(recording.record().at("iterations"), 1);
  EXPECT_EQ(recording.record().at("memory").at("peak_bytes_per_worker"), Json::array({nullptr, 5000}));
}

TEST(EventRecorder, LeavesOutTheTimesOfConvergenceRuns) {
  Recording recording(Mode::converge);
  recording.recorder().add(0, iteration_after(1, 1));
  recording.recorder().add(0, evaluation_after(2, 2, 0.6));
  ASSERT_EQ(recording.lines().size(), 2);
  for (const Json& line : recording.lines()) EXPECT_TRUE(line.at("train_time_s").is_null()) << line;
  EXPECT_TRUE(recording.record().at("curve").at(0).at("train_time_s").is_null());
}

TEST(EventRecorder, AddsTheTimeThatAFailureLost) {
  Recording recording(Mode::live);
  recording.recorder().add(0, evaluation_after(0, 0, 0.1));
  recording.recorder().add(0, iteration_after(1, 1));
  recording.recorder().add(0, iteration_after(2, 2));
  recording.restarts().begin({.kind = "crash", .message = "m"}, 2, 2, 0);
  recording.recorder().add(0, event::Resumed{.iteration = 1, .train_time_s = 1});
  const double lost_s = recording.restarts().lost_train_time_s();
  EXPECT_GE(lost_s, 1) << "the second iteration";
  recording.recorder().add(0, iteration_after(2, 2));
  EXPECT_EQ(recording.notes(), std::vector<std::string>{"resumes after iteration 1"});
  EXPECT_EQ(recording.lines().back().at("train_time_s"), 2 + lost_s);
  EXPECT_EQ(recording.record().at("iterations"), 2) << "the repeated iteration counts once";
  EXPECT_EQ(recording.record().at("train_time_s"), 2 + lost_s);
  EXPECT_EQ(recording.beginnings(), 1);
}

TEST(EventRecorder, RefusesWorkersThatResumeAtNoTime) {
  Recording recording(Mode::live);
  recording.restarts().begin({.kind = "crash", .message = "m"}, 0, 0, 0);
  event::Evaluation evaluation = evaluation_after(0, 0, 0.1);
  evaluation.train_time_s.reset();
  EXPECT_THROW(recording.recorder().add(0, evaluation), InvalidEvent);
}

TEST(EventRecorder, GoesOnInTheFileOfAnEarlierPart) {
  Recording recording(Mode::live);
  recording.write_lines(to_json(Event(iteration_after(1, 1))).dump() + "\n");
  recording.recorder().restore({evaluation_after(0, 0, 0.1), iteration_after(1, 1)});
  recording.recorder().add(0, event::Resumed{.iteration = 1, .train_time_s = 1});
  recording.recorder().add(0, iteration_after(2, 2));
  std::vector<std::string> kinds;
  for (const Json& line : recording.lines()) kinds.push_back(line.at("event"));
  EXPECT_EQ(kinds, (std::vector<std::string>{"iteration", "resumed", "iteration"}));
  EXPECT_EQ(recording.record().at("iterations"), 2);
  EXPECT_EQ(recording.record().at("curve").size(), 1);
  EXPECT_EQ(recording.beginnings(), 1);
}

// Workers that restart from the beginning report no resumption.
TEST(EventRecorder, GoesOnAfterAnEarlierPartThatRestartedFromTheBeginning) {
  Recording recording(Mode::live);
  recording.recorder().restore({evaluation_after(0, 0, 0.1), iteration_after(1, 1),
                                evaluation_after(1, 1, 0.2), evaluation_after(0, 1.5, 0.1),
                                iteration_after(1, 2.5)});
  EXPECT_EQ(recording.record().at("iterations"), 1);
  ASSERT_EQ(recording.record().at("curve").size(), 1) << "the lost attempt's points do not count";
  EXPECT_EQ(recording.record().at("curve").at(0).at("train_time_s"), 1.5);
}

}  // namespace
}  // namespace thinpipe

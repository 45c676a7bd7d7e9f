// SPDX-License-Identifier: Apache-2.0
#include "harness/run/script/script_progress.hh"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Returns the events in short: "iteration 10 at 2 s", "evaluation of 10 at 2 s: 0.5".
std::vector<std::string> brief(const std::vector<Event>& events) {
  std::vector<std::string> out;
  for (const Event& event : events) {
    if (const auto* iteration = std::get_if<event::Iteration>(&event)) {
      out.push_back(fmt::format("iteration {} at {:g} s", iteration->iteration,
                                iteration->times ? iteration->times->train_time_s : -1));
    }
    if (const auto* evaluation = std::get_if<event::Evaluation>(&event)) {
      out.push_back(fmt::format(
          "evaluation of {} at {:g} s: {}", evaluation->iteration, evaluation->train_time_s.value_or(-1),
          evaluation->test_accuracy ? fmt::format("{:g}", *evaluation->test_accuracy) : "null"));
    }
  }
  return out;
}

std::string refusal(const auto& action) {
  try {
    action();
  } catch (const InvalidEvent& error) {
    return error.what();
  }
  return "accepted";
}

class Reported : public testing::Test {
 protected:
  Reported() { progress_.start(100); }

  std::vector<std::string> take(const char* text, double now_s) {
    return brief(progress_.take_report(text, now_s));
  }

  ScriptProgress progress_{{}};
};

TEST_F(Reported, TimeCountsFromTheReportOfIteration0) {
  EXPECT_THAT(take(R"({"iteration": 0, "test_accuracy": 0.1})", 105),
              ElementsAre("evaluation of 0 at 0 s: 0.1"));
  EXPECT_TRUE(progress_.reported_its_start());
  EXPECT_THAT(take(R"({"iteration": 10, "test_accuracy": 0.5})", 107),
              ElementsAre("iteration 10 at 2 s", "evaluation of 10 at 2 s: 0.5"));
}

TEST_F(Reported, AnEvaluationBeforeTrainingTakesNoTrainTime) {
  take(R"({"iteration": 0})", 105);
  EXPECT_THAT(take(R"({"iteration": 0, "test_accuracy": 0.1})", 108),
              ElementsAre("evaluation of 0 at 0 s: 0.1"));
  EXPECT_THAT(take(R"({"iteration": 1})", 109), ElementsAre("iteration 1 at 1 s"));
}

TEST_F(Reported, TimeCountsFromTheWorkersStartIfIteration0IsMissing) {
  EXPECT_THAT(take(R"({"iteration": 10})", 105), ElementsAre("iteration 10 at 5 s"));
  EXPECT_FALSE(progress_.reported_its_start());
  EXPECT_TRUE(progress_.has_reported());
}

TEST_F(Reported, ALateArrivalDoesNotCount) {
  take(R"({"iteration": 0, "monotonic_s": 101})", 105);
  EXPECT_THAT(take(R"({"iteration": 1, "monotonic_s": 103})", 105), ElementsAre("iteration 1 at 2 s"));
  EXPECT_THAT(take(R"({"iteration": 2, "monotonic_s": 7})", 105), ElementsAre("iteration 2 at 2 s"));
  EXPECT_THAT(take(R"({"iteration": 3, "monotonic_s": 900})", 105), ElementsAre("iteration 3 at 4 s"))
      << "of another clock";
}

TEST_F(Reported, TimeIsTheScriptsIfItReportsIt) {
  take(R"({"iteration": 0})", 105);
  EXPECT_THAT(take(R"({"iteration": 10, "train_time_s": 1.5, "test_accuracy": 0.5})", 107),
              ElementsAre("iteration 10 at 1.5 s", "evaluation of 10 at 1.5 s: 0.5"));
  EXPECT_THAT(refusal([&] { take(R"({"iteration": 20})", 108); }),
              HasSubstr("with and without \"train_time_s\""));
  EXPECT_THAT(refusal([&] { take(R"({"iteration": 20, "train_time_s": 1})", 108); }),
              HasSubstr("the train time 1 s after 1.5 s"));
}

TEST_F(Reported, AnIterationsTimeIsTheMeanSinceTheLastReport) {
  take(R"({"iteration": 0})", 100);
  const auto events = progress_.take_report(R"({"iteration": 4, "train_loss": 1.5, "epoch": 0.5})", 102);
  const auto& iteration = std::get<event::Iteration>(events.at(0));
  EXPECT_DOUBLE_EQ(iteration.times->iteration_time_s, 0.5);
  EXPECT_EQ(iteration.train_loss, 1.5);
  EXPECT_EQ(iteration.epoch, 0.5);
}

TEST_F(Reported, SeveralReportsOfAnIterationAreOneIteration) {
  take(R"({"iteration": 0})", 100);
  EXPECT_THAT(take(R"({"iteration": 1, "train_loss": 2})", 101), ElementsAre("iteration 1 at 1 s"));
  const auto events = progress_.take_report(R"({"iteration": 1, "test_loss": 3})", 102);
  EXPECT_THAT(brief(events), ElementsAre("evaluation of 1 at 2 s: null"));
  EXPECT_EQ(std::get<event::Evaluation>(events.at(0)).train_loss, 2) << "the latest";
}

TEST_F(Reported, PayloadIsCountedOnce) {
  take(R"({"iteration": 0})", 100);
  EXPECT_THAT(take(R"({"payload_bytes": 100})", 100), IsEmpty());
  const auto events = progress_.take_report(R"({"iteration": 1, "payload_bytes": 20})", 101);
  EXPECT_EQ(std::get<event::Iteration>(events.at(0)).payload_bytes, 120);
  take(R"({"payload_bytes": 3})", 102);
  EXPECT_EQ(progress_.payload_bytes(), 123);
  const auto last = progress_.finish();
  EXPECT_EQ(std::get<event::Iteration>(last.at(0)).payload_bytes, 3);
  EXPECT_EQ(std::get<event::Iteration>(last.at(0)).iteration, 1);
  EXPECT_THAT(progress_.finish(), IsEmpty());
}

TEST_F(Reported, PayloadIsUnknownWithoutAReportOfIt) {
  take(R"({"iteration": 0})", 100);
  const auto events = progress_.take_report(R"({"iteration": 1})", 101);
  EXPECT_EQ(std::get<event::Iteration>(events.at(0)).payload_bytes, std::nullopt);
}

TEST_F(Reported, IterationsThatGoBackAreRefused) {
  take(R"({"iteration": 10})", 100);
  EXPECT_THAT(refusal([&] { take(R"({"iteration": 9})", 101); }),
              HasSubstr("iteration 9 after iteration 10: iterations are counted over the whole run"));
}

class Printed : public testing::Test {
 protected:
  explicit Printed() { progress_.start(100); }

  std::vector<std::string> take(const char* line, double now_s) {
    return brief(progress_.take_line(line, now_s));
  }

  ScriptProgress progress_{{.iteration = "step ([0-9]+)",
                            .epoch = "epoch ([0-9]+)",
                            .train_loss = "train (\\S+)",
                            .test_loss = "test (\\S+)",
                            .test_accuracy = "acc ([0-9.]+)"}};
};

TEST_F(Printed, TheTestAccuracyCompletesAPointWithTheLatestOfTheOthers) {
  EXPECT_THAT(take("loading", 101), IsEmpty());
  EXPECT_FALSE(progress_.has_reported());
  EXPECT_THAT(take("step 10 train 1.5", 102), ElementsAre("iteration 10 at 2 s"));
  EXPECT_THAT(take("test 0.9", 103), IsEmpty());
  const auto events = progress_.take_line("epoch 2: acc 45 %", 104);
  EXPECT_THAT(brief(events), ElementsAre("evaluation of 10 at 4 s: 0.45"));
  const auto& point = std::get<event::Evaluation>(events.at(0));
  EXPECT_EQ(point.train_loss, 1.5);
  EXPECT_EQ(point.test_loss, 0.9);
  EXPECT_EQ(point.epoch, 2);
  EXPECT_EQ(std::get<event::Evaluation>(progress_.take_line("acc 0.5", 105).at(0)).test_loss, std::nullopt)
      << "that of the point before";
}

TEST_F(Printed, AllOfALineIsOnePoint) {
  EXPECT_THAT(take("acc 0.5 test 0.9 step 10", 102),
              ElementsAre("iteration 10 at 2 s", "evaluation of 10 at 2 s: 0.5"));
}

TEST_F(Printed, AnEvaluationBeforeAnyIterationIsThatOfTheStart) {
  EXPECT_THAT(take("acc 0.1", 105), ElementsAre("evaluation of 0 at 0 s: 0.1"));
  EXPECT_THAT(take("step 10", 107), ElementsAre("iteration 10 at 2 s"));
}

TEST_F(Printed, ValuesThatCannotBeAreRefused) {
  EXPECT_THAT(refusal([&] { take("acc 45", 101); }),
              HasSubstr("must be a share from 0 to 1 or be followed by %"));
  EXPECT_THAT(refusal([&] { take("train high", 101); }),
              HasSubstr("curve.train_loss matches, but \"high\" is not a"));
  take("step 10", 101);
  EXPECT_THAT(refusal([&] { take("step 1", 102); }), HasSubstr("iteration 1 after iteration 10"));
}

TEST_F(Printed, ALossThatIsNotFiniteIsNull) {
  take("step 10", 101);
  const auto events = progress_.take_line("test nan acc 0.1", 101);
  EXPECT_EQ(std::get<event::Evaluation>(events.at(0)).test_loss, std::nullopt);
}

TEST_F(Printed, PatternsThatNothingMatchedAreKnown) {
  take("step 10 acc 0.5", 101);
  EXPECT_THAT(progress_.unmatched_patterns(), ElementsAre("epoch", "train_loss", "test_loss"));
}

TEST(PrintedLoss, CompletesAPointIfThereIsNoAccuracy) {
  ScriptProgress progress({.iteration = "step ([0-9]+)", .test_loss = "val ([0-9.]+)"});
  progress.start(0);
  EXPECT_THAT(brief(progress.take_line("step 10: val 2.5", 1)),
              ElementsAre("iteration 10 at 1 s", "evaluation of 10 at 1 s: null"));
}

}  // namespace
}  // namespace thinpipe

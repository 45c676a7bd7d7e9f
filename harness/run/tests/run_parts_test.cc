// SPDX-License-Identifier: Apache-2.0
#include "harness/run/run_parts.hh"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/file_descriptor.hh"
#include "common/support/tests/temporary_folder.hh"
#include "harness/records/record.hh"
#include "harness/run/tests/recording.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

Run run_of(Mode mode) {
  Run run;
  run.mode = mode;
  CheckedConfig training;
  training.config = {{"workers", 1}};
  run.training = std::make_shared<const CheckedConfig>(std::move(training));
  return run;
}

Outcome interrupted(std::optional<std::int64_t> saved_after = std::nullopt) {
  return {.status = Outcome::Status::interrupted, .saved_after = saved_after};
}

class PartsOfARun : public testing::Test {
 protected:
  // Leaves what an interruption after this iteration does.
  void interrupt(std::int64_t iteration) {
    fs::create_directories(checkpoints_);
    std::ofstream(checkpoints_ / ("rank-0.iteration-" + std::to_string(iteration) + ".pt")) << "weights";
    std::ofstream(folder_.path() / iterations_file_name) << "until " << iteration;
    Record record = record_after(iteration);
    EXPECT_TRUE(parts_.end(interrupted(iteration), record));
    write_atomically(folder_.path() / "run.json", record_text(to_json(record)));
  }

  static Record record_after(std::int64_t iteration) {
    return {.run_id = "0123456789abcdef",
            .experiment = "test",
            .label = "base",
            .status = "interrupted",
            .mode = "live",
            .train_time_s = static_cast<double>(iteration),
            .iterations = iteration};
  }

  TemporaryFolder folder_;
  fs::path checkpoints_ = folder_.path() / interrupted_folder_name;
  std::vector<std::string> notes_;
  thinpipe::Run run_ = run_of(Mode::live);
  RunParts parts_{run_, folder_.path(), false, [this](const std::string& line) { notes_.push_back(line); }};
};

TEST_F(PartsOfARun, TheNextStartFindsTheCheckpoint) {
  EXPECT_EQ(parts_.after_iteration(), std::nullopt);
  interrupt(7);
  parts_.find_earlier(Json::object());
  EXPECT_EQ(parts_.after_iteration(), 7);
  EXPECT_EQ(parts_.earlier_train_time_s(), 7);
}

TEST_F(PartsOfARun, APartStoppedWithoutACheckpointLeavesTheEarlierOne) {
  interrupt(7);
  parts_.find_earlier(Json::object());
  Record record = record_after(9);
  EXPECT_FALSE(parts_.end(interrupted(), record)) << "its record is not to be written";
  EXPECT_EQ(record.iterations, 7);
  parts_.find_earlier(Json::object());
  EXPECT_EQ(parts_.after_iteration(), 7);
}

TEST_F(PartsOfARun, ACheckpointThatCannotBeKeptLeavesTheEarlierOne) {
  interrupt(7);
  parts_.find_earlier(Json::object());
  fs::remove(folder_.path() / iterations_file_name);
  Record record = record_after(9);
  EXPECT_FALSE(parts_.end(interrupted(9), record));
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("cannot keep the checkpoint")));
  EXPECT_EQ(read_file(checkpoints_ / "iterations.iteration-7.jsonl"), "until 7");
  parts_.find_earlier(Json::object());
  EXPECT_EQ(parts_.after_iteration(), 7);
}

TEST_F(PartsOfARun, APartThatEndedWithoutARecordLeavesNoCheckpointBeside) {
  interrupt(7);
  const fs::path later = checkpoints_ / "rank-0.iteration-9.pt";
  std::ofstream(later) << "weights";
  std::ofstream(checkpoints_ / "trace.iteration-9.json") << "{}";
  parts_.find_earlier(Json::object());
  EXPECT_EQ(parts_.after_iteration(), 7);
  EXPECT_FALSE(fs::exists(later)) << "workers keep the two newest, so it would end the one of iteration 7";
  EXPECT_FALSE(fs::exists(checkpoints_ / "trace.iteration-9.json"));
  EXPECT_TRUE(fs::exists(checkpoints_ / "rank-0.iteration-7.pt"));
  EXPECT_TRUE(fs::exists(checkpoints_ / "iterations.iteration-7.jsonl"));
}

TEST_F(PartsOfARun, StartingFromTheBeginningIsExplained) {
  interrupt(7);
  fs::remove(checkpoints_ / "rank-0.iteration-7.pt");
  parts_.find_earlier(Json::object());
  EXPECT_FALSE(parts_.has_earlier());
  Recording recording(Mode::live);
  parts_.continue_earlier({}, recording.recorder(), recording.restarts());
  EXPECT_THAT(notes_, ElementsAre("starts from the beginning, because its checkpoint is incomplete"));
}

TEST_F(PartsOfARun, ACompleteRunLeavesNoCheckpoint) {
  interrupt(7);
  parts_.find_earlier(Json::object());
  Record record = record_after(9);
  EXPECT_TRUE(parts_.end({}, record));
  EXPECT_EQ(record.iterations, 9);
  EXPECT_FALSE(fs::exists(checkpoints_));
}

bool can_be_continued(const Run& run, bool captures = false) {
  return RunParts(run, "/", captures, [](const std::string& /*line*/) {}).can_be_continued();
}

TEST(RunParts, OnlyWhatIsInCheckpointsCanBeContinued) {
  thinpipe::Run run = run_of(Mode::live);
  EXPECT_TRUE(can_be_continued(run));
  EXPECT_FALSE(can_be_continued(run, true)) << "captures would be of one part";
  run.worker_events.emplace_back();
  EXPECT_FALSE(can_be_continued(run)) << "events have their own times";
  EXPECT_TRUE(can_be_continued(run_of(Mode::converge)));
  EXPECT_FALSE(can_be_continued(run_of(Mode::replay)));
}

}  // namespace
}  // namespace thinpipe

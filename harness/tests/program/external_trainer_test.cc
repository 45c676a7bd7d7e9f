// SPDX-License-Identifier: Apache-2.0
// thinpipe run with an external trainer of the user's.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/file_descriptor.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

// Writes a shell script beside the experiment.
void write_trainer(const Program& program, const std::string& name, const std::string& script,
                   fs::perms permissions = fs::perms::owner_all) {
  const fs::path path = program.folder() / name;
  std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
  fs::permissions(path, permissions);
}

// A script that prints a line and runs the stand-in.
const std::string talkative =
    "echo \"asked to $1\" >&2; grep -o thinpipe-polling.so /proc/$$/maps >&2; exec " + fake_trainer() +
    " \"$@\"";

Json with_trainer(const Json& trainer) {
  return {{"topology", "loopback"}, {"workers", 2}, {"iterations", 3}, {"trainer", trainer}};
}

TEST(ExternalTrainerTest, TrainsInOurTrainersPlace) {
  const Program program;
  write_trainer(program, "mine.sh", talkative);
  const auto ended = program.run(program.run_arguments(program.experiment(with_trainer("mine.sh"))));
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  const Json record = program.record("base");
  EXPECT_EQ(record.at("status"), "completed");
  EXPECT_EQ(record.at("iterations"), 3);
  EXPECT_EQ(record.at("config").at("trainer"), "mine.sh");
  const fs::path log = program.results() / "test" / record.at("run_id").get<std::string>() / "worker-1.log";
  EXPECT_THAT(read_file(log), HasSubstr("asked to work\nthinpipe-polling.so\n"));
}

TEST(ExternalTrainerTest, ThatChangesMakesAnotherRun) {
  const Program program;
  write_trainer(program, "mine.sh", talkative);
  const std::string experiment = program.experiment(with_trainer("mine.sh"));
  ASSERT_EQ(program.run(program.run_arguments(experiment)).status.code, 0);
  const Json first = program.record("base").at("run_id");
  fs::remove_all(program.results());
  std::ofstream(program.folder() / "mine.sh", std::ios::app) << "# changed\n";
  ASSERT_EQ(program.run(program.run_arguments(experiment)).status.code, 0);
  EXPECT_NE(program.record("base").at("run_id"), first);
}

TEST(ExternalTrainerTest, IsMadeOfTheFilesThatItLists) {
  const Program program;
  write_trainer(program, "mine.sh", talkative);
  fs::create_directories(program.folder() / "lib" / "__pycache__");
  const fs::path module = program.folder() / "lib" / "module.py";
  std::ofstream(module) << "1";
  const std::string experiment =
      program.experiment(with_trainer({{"program", "mine.sh"}, {"method", "sketch"}, {"files", {"lib"}}}));
  const auto run_id = [&] {
    fs::remove_all(program.results());
    const auto ended = program.run(program.run_arguments(experiment));
    EXPECT_EQ(ended.status.code, 0) << ended.errors;
    return program.record("base").at("run_id").get<std::string>();
  };
  const std::string first = run_id();
  std::ofstream(program.folder() / "lib" / "__pycache__" / "module.pyc") << "byte code";
  EXPECT_EQ(run_id(), first);
  std::ofstream(module, std::ios::app) << "2";
  const std::string changed = run_id();
  EXPECT_NE(changed, first);
  fs::rename(module, program.folder() / "lib" / "renamed.py");
  EXPECT_NE(run_id(), changed);
}

TEST(ExternalTrainerTest, IsToldItsMethodWhichNothingIsPredictedOf) {
  const Program program;
  write_trainer(program, "mine.sh", "grep '\"method\": \"sketch\"' $2 >&2; " + talkative);
  const std::string experiment =
      program.experiment(with_trainer({{"program", "mine.sh"}, {"method", "sketch"}}));
  ASSERT_EQ(program.run(program.run_arguments(experiment)).status.code, 0);
  const Json record = program.record("base");
  EXPECT_EQ(record.at("config").at("trainer").at("method"), "sketch");
  EXPECT_TRUE(record.at("predicted").at("exchange_time_s").is_null());
  const fs::path log = program.results() / "test" / record.at("run_id").get<std::string>() / "worker-0.log";
  EXPECT_THAT(read_file(log), HasSubstr("\"method\": \"sketch\""));
}

TEST(ExternalTrainerTest, ThatMisspellsAPartOfTimeFails) {
  const Program program;
  write_trainer(program, "mine.sh", fake_trainer() + " \"$@\" | sed 's/decode_s/decoding_s/'");
  const auto ended = program.run(program.run_arguments(program.experiment(with_trainer("mine.sh"))));
  EXPECT_EQ(ended.status.code, 1) << ended.errors;
  const Json record = program.record("base");
  EXPECT_EQ(record.at("status"), "failed");
  EXPECT_THAT(record.at("error").at("message").get<std::string>(), HasSubstr("decode_s"));
}

TEST(ExternalTrainerTest, ThatReportsWhatCannotBeFails) {
  const Program program;
  write_trainer(program, "mine.sh",
                fake_trainer() + R"( "$@" | sed 's/"test_accuracy":[0-9.]*/"test_accuracy":9.5/')");
  const auto ended = program.run(program.run_arguments(program.experiment(with_trainer("mine.sh"))));
  EXPECT_EQ(ended.status.code, 1) << ended.errors;
  const Json error = program.record("base").at("error");
  EXPECT_EQ(error.at("kind"), "protocol");
  EXPECT_THAT(error.at("message").get<std::string>(),
              HasSubstr("\"test_accuracy\" is 9.5, but must be a number from 0 to 1"));
}

TEST(ExternalTrainerTest, ThatLeavesAFloodBehindEndsNevertheless) {
  const Program program;
  write_trainer(program, "mine.sh", "yes & exec " + fake_trainer() + " \"$@\"");
  const auto ended = program.run(program.run_arguments(program.experiment(with_trainer("mine.sh"))));
  EXPECT_EQ(ended.status.code, 1) << ended.errors;
  EXPECT_EQ(program.record("base").at("error").at("kind"), "protocol");
}

TEST(ExternalTrainerTest, ThatCannotBeStartedIsRefusedBeforeAnythingRuns) {
  const Program program;
  write_trainer(program, "mine.sh", talkative, fs::perms::owner_read);
  const auto refused = [&program](const Json& base) {
    const auto ended = program.run(program.run_arguments(program.experiment(base)));
    EXPECT_EQ(ended.status.code, 2);
    return ended.errors;
  };
  EXPECT_THAT(refused(with_trainer("mine.sh")), HasSubstr("cannot be executed: it needs chmod +x"));
  EXPECT_THAT(refused(with_trainer("yours.sh")),
              AllOf(HasSubstr("/base/trainer"), HasSubstr("does not exist")));
  EXPECT_THAT(refused(with_trainer("pytorch-dpd")), HasSubstr("did you mean \"pytorch-ddp\"?"));
  EXPECT_THAT(refused(with_trainer({{"program", "pytorch-ddp"}, {"method", "mine"}})),
              AllOf(HasSubstr("/base/trainer/method"), HasSubstr("is for a trainer of your own")));
  write_trainer(program, "good.sh", talkative);
  EXPECT_THAT(refused(with_trainer({{"program", "good.sh"}, {"files", {"nowhere"}}})),
              AllOf(HasSubstr("/base/trainer/files/0"), HasSubstr("is neither a file nor a folder")));
  Json replayed = with_trainer("mine.sh");
  replayed["mode"] = "replay";
  EXPECT_THAT(refused(replayed),
              AllOf(HasSubstr("/base/trainer"), HasSubstr("works only in modes \"live\" and \"cluster\"")));
}

}  // namespace
}  // namespace thinpipe

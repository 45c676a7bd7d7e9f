// SPDX-License-Identifier: Apache-2.0
// thinpipe status without Slurm, and `run --run`.
#include <csignal>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

using testing::Contains;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

class StatusCommand : public testing::Test {
 protected:
  std::string status() const { return program_.run({"status", program_.results()}).output; }

  Program program_;
};

TEST_F(StatusCommand, ShowsARunInProgressAndHowItEnded) {
  const std::string experiment =
      program_.experiment({{"topology", "loopback"}, {"iterations", 300}}, {{"seed", {1}}});
  ChildProcess controller = program_.start(program_.run_arguments(experiment));
  ASSERT_TRUE(eventually([this] { return status().find("ms/iteration") != std::string::npos; }, 30s))
      << status();
  EXPECT_THAT(status(), HasSubstr("1 run: 1 running\n"));
  EXPECT_THAT(status(), HasSubstr("running  process " + std::to_string(controller.pid()) + " on "));
  EXPECT_THAT(status(), HasSubstr(": epoch "));
  controller.signal(SIGTERM);
  program_.finish(std::move(controller));
  EXPECT_THAT(status(), HasSubstr("1 run: 1 interrupted\n"));
  EXPECT_THAT(program_.written(), Not(Contains(HasSubstr(".progress"))));
}

TEST_F(StatusCommand, OfAKilledControllerShowsTheRunAsLostAndHowFarItWas) {
  const std::string experiment =
      program_.experiment({{"topology", "loopback"}, {"iterations", 300}}, {{"seed", {1}}});
  ChildProcess controller = program_.start(program_.run_arguments(experiment));
  ASSERT_TRUE(eventually([this] { return status().find("ms/iteration") != std::string::npos; }, 30s));
  controller.signal(SIGKILL);
  program_.finish(std::move(controller));
  EXPECT_THAT(status(), HasSubstr("1 run: 1 lost\n"));
  EXPECT_THAT(status(), ContainsRegex("\n1 .* its controller ended without a record: epoch .*/300"))
      << "label 1";
}

TEST_F(StatusCommand, ListsTheEndedOnRequestAndAllAsJson) {
  const std::string experiment = program_.experiment(loopback, {{"seed", {1, 2}}});
  program_.run(program_.run_arguments(experiment));
  EXPECT_EQ(status(), "2 runs: 2 completed\n");
  EXPECT_THAT(program_.run({"status", program_.results(), "--all"}).output, HasSubstr("completed"));
  const Json runs = Json::parse(program_.run({"status", program_.results(), "--json"}).output);
  ASSERT_EQ(runs.size(), 2U);
  for (const Json& run : runs) {
    EXPECT_EQ(run.at("state"), "completed");
    EXPECT_EQ(run.at("job"), nullptr);
  }
}

TEST_F(StatusCommand, AFolderWithoutRunsIsNamed) {
  for (const char* const command : {"status", "cancel"}) {
    for (const std::string& folder : {program_.folder().string(), std::string("nowhere")}) {
      const auto ended = program_.run({command, folder});
      EXPECT_EQ(ended.status.code, 2);
      EXPECT_THAT(ended.errors, HasSubstr(folder + ": has no runs; name a folder that `thinpipe run` wrote"));
    }
  }
}

TEST_F(StatusCommand, ADamagedRecordIsShownAsSuch) {
  const std::string experiment = program_.experiment(loopback, {{"seed", {1}}});
  program_.run(program_.run_arguments(experiment));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(program_.results())) {
    if (entry.path().filename() == "run.json") std::ofstream(entry.path()) << R"({"schema_version": 3})";
  }
  EXPECT_THAT(status(), HasSubstr("1 run: 1 unreadable\n"));
}

TEST_F(StatusCommand, ARecordThatCannotBeReadIsShownAsSuch) {
  std::filesystem::create_directories(std::filesystem::path(program_.results()) / "1" / "run.json");
  EXPECT_EQ(status().substr(0, status().find('\n') + 1), "1 run: 1 unreadable\n");
}

TEST(RunCommandArguments, ASecondExperimentIsOneTooMany) {
  const Program program;
  const auto ended = program.run({"run", program.experiment(loopback), "other.json"});
  EXPECT_EQ(ended.status.code, 2);
  EXPECT_THAT(ended.errors, HasSubstr("other.json: is one argument too many"));
}

TEST(RunCommandById, ExecutesOnlyThatRun) {
  const Program program;
  const std::string experiment = program.experiment(loopback, {{"seed", {1, 2, 3}}});
  const Json plan = Json::parse(program.run({"plan", experiment, "--json"}).output);
  const auto id = plan.at(1).at("run_id").get<std::string>();
  EXPECT_EQ(program.run(program.run_arguments(experiment, {"--run", id})).status.code, 0);
  const auto records = load_records(program.results());
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records.front().at("run_id"), id);
  const auto unknown = program.run(program.run_arguments(experiment, {"--run", "0123"}));
  EXPECT_EQ(unknown.status.code, 2);
  EXPECT_THAT(unknown.errors,
              HasSubstr("no run of this experiment has the id \"0123\"; `thinpipe plan` lists them"));
}

}  // namespace
}  // namespace thinpipe

// SPDX-License-Identifier: Apache-2.0
// thinpipe run on the loopback, when workers fail, stall or end late, and when it is interrupted or killed.
#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using namespace std::chrono_literals;

// A sweep whose first run has the fault and whose second has none.
Json faulty_then_sound(const Json& fault) {
  return {{"method", {{"faulty", {{"fault", fault}}}, {"sound", {{"seed", 2}}}}}};
}

struct FaultCase {
  const char* name;
  const char* fault;
  std::vector<std::string> arguments;
  const char* kind;
  const char* exit_status;  // null: none
  const char* message;
};

class Faults : public testing::TestWithParam<FaultCase> {};

TEST_P(Faults, MakeAFailedRecordAndTheSweepGoesOn) {
  const FaultCase& expected = GetParam();
  const Program program;
  const Json fault = {{"kind", expected.fault}, {"rank", 1}, {"iteration", 2}};
  const Json base = {{"topology", "loopback"}, {"iterations", 3}};
  const auto arguments =
      program.run_arguments(program.experiment(base, faulty_then_sound(fault)), expected.arguments);
  const auto ended = program.run(arguments);
  EXPECT_EQ(ended.status.code, 1);
  const Json record = program.record("faulty");
  const Json& error = record.at("error");
  EXPECT_EQ(record.at("status"), "failed");
  EXPECT_EQ(error.at("kind"), expected.kind);
  EXPECT_EQ(error.at("rank"), 1);
  EXPECT_EQ(error.at("exit_status"),
            expected.exit_status == nullptr ? Json(nullptr) : Json(expected.exit_status));
  EXPECT_THAT(error.at("message").get<std::string>(), HasSubstr(expected.message));
  EXPECT_EQ(error.at("log_tail").back(), std::string("about to ") + expected.fault);
  EXPECT_THAT(ended.errors,
              AllOf(HasSubstr("FAILED, worker 1"), HasSubstr(std::string("about to ") + expected.fault)));
  EXPECT_EQ(program.record("sound").at("status"), "completed");
  EXPECT_THAT(processes_marked(program.mark()), IsEmpty());
  EXPECT_THAT(program.run(arguments).errors,
              AllOf(HasSubstr("faulty: failed earlier: "), HasSubstr("sound: completed earlier")));
}

INSTANTIATE_TEST_SUITE_P(
    RunCommand, Faults,
    testing::Values(
        FaultCase{"Crash", "crash", {}, "crash", "signal 11 (Segmentation fault)", "before it had finished"},
        FaultCase{"Exit", "exit", {}, "crash", "exit code 3", "exit code 3"},
        FaultCase{"SilentExit", "silent_exit", {}, "crash", "exit code 0", "before it had finished"},
        FaultCase{"LateExit", "late_exit", {}, "crash", "exit code 3", "after it had finished"},
        FaultCase{"Stop",
                  "stop",
                  {"--hang-timeout", "2 s"},
                  "hang",
                  nullptr,
                  "computing after iteration 1; its process is stopped"},
        FaultCase{"NaN", "nan", {}, "non_finite", "exit code 1", "the loss is not finite"},
        FaultCase{"Garbage", "garbage", {}, "protocol", "exit code 0", "this is not an event"}),
    [](const auto& tested) { return tested.param.name; });

TEST(RunCommand, ARunThatStallsIsGivenUp) {
  const Program program;
  const Json fault = {{"kind", "hang"}, {"rank", 0}, {"iteration", 2}};
  const auto ended = program.run(program.run_arguments(program.experiment(loopback, faulty_then_sound(fault)),
                                                       {"--stall-timeout", "1 s"}));
  EXPECT_EQ(ended.status.code, 1);
  const Json record = program.record("faulty");
  EXPECT_EQ(record.at("error").at("kind"), "stall");
  EXPECT_EQ(record.at("error").at("message"), "no worker reported any progress for 1 s");
  EXPECT_EQ(record.at("limits").at("stall_timeout_s"), 1.0);
  EXPECT_EQ(record.at("curve").size(), 2) << "earlier measurements are kept";
  EXPECT_EQ(program.record("sound").at("status"), "completed");
}

TEST(RunCommand, AFinishedWorkerMayTakeLongToEnd) {
  const Program program;
  const Json base = {{"topology", "loopback"},
                     {"fault", {{"kind", "slow_exit"}, {"rank", 1}, {"iteration", 2}}}};
  const auto ended = program.run(
      program.run_arguments(program.experiment(base, {{"seed", {1}}}), {"--hang-timeout", "1 s"}));
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_EQ(program.record("1").at("status"), "completed");
}

TEST(RunCommand, AWorkerThatHasSavedItsCheckpointMayTakeLongToEnd) {
  const Program program;
  const Json base = {{"topology", "loopback"},
                     {"iterations", 100},
                     {"fault", {{"kind", "slow_stop"}, {"rank", 0}, {"iteration", 3}}}};
  ChildProcess run = program.start(
      program.run_arguments(program.experiment(base, {{"seed", {1}}}), {"--hang-timeout", "1 s"}));
  ASSERT_TRUE(eventually(
      [&] {
        return program.run({"status", program.results()}).output.find("iteration 2/") != std::string::npos;
      },
      30s));
  run.signal(SIGTERM);
  const auto ended = program.finish(std::move(run));
  EXPECT_EQ(ended.status.code, 1);
  const Json record = program.record("1");
  EXPECT_EQ(record.at("status"), "interrupted");
  EXPECT_EQ(record.at("checkpoint").at("after_iteration"), 2) << ended.errors;
}

TEST(RunCommand, SaysWhyAWorkerThatWasAskedToStopLeavesNoCheckpoint) {
  for (const int workers : {1, 2}) {
    const Program program;
    const Json base = {{"topology", "loopback"}, {"iterations", 100000}, {"workers", workers}};
    ChildProcess run = program.start(program.run_arguments(program.experiment(base)));
    ASSERT_TRUE(eventually(
        [&] {
          return program.run({"status", program.results()}).output.find("/100000") != std::string::npos;
        },
        30s));
    run.signal(SIGTERM);  // whose default action ends the workers
    const auto ended = program.finish(std::move(run));
    EXPECT_EQ(ended.status.code, 1);
    EXPECT_THAT(ended.errors, HasSubstr("leaves no checkpoint: ended with signal 15 (Terminated)"));
    const Json record = program.record("base");
    EXPECT_EQ(record.at("status"), "interrupted");
    EXPECT_EQ(record.at("error").at("kind"), "crash");
  }
}

TEST(RunCommand, AnInterruptStopsAtOnceAndLeavesARecord) {
  const Program program;
  const Json base = {{"topology", "loopback"}, {"iterations", 100000}};
  ChildProcess process = program.start(program.run_arguments(program.experiment(base, {{"seed", {1, 2}}})));
  const auto training = [&program] {
    const std::vector<std::string> written = program.written();
    return processes_marked(program.mark()).size() == 3 &&
           std::ranges::count(written, "iterations.jsonl") == 1;
  };
  ASSERT_TRUE(eventually(training, 30s));
  process.signal(SIGINT);
  const auto ended = program.finish(std::move(process));
  EXPECT_EQ(ended.status.code, 1) << ended.status.describe();
  EXPECT_EQ(program.record("1").at("status"), "interrupted");
  EXPECT_THAT(ended.errors, AllOf(HasSubstr("interrupted"), Not(HasSubstr("[2/2]"))));
  EXPECT_THAT(processes_marked(program.mark()), IsEmpty());
}

TEST(RunCommand, GoesOnAfterAHangUpThatIsIgnored) {  // as with nohup
  const Program program;
  const Json base = {{"topology", "loopback"}, {"iterations", 20}, {"iteration_time", "100 ms"}};
  std::signal(SIGHUP, SIG_IGN);  // the program inherits it
  ChildProcess process = program.start(program.run_arguments(program.experiment(base)));
  std::signal(SIGHUP, SIG_DFL);
  ASSERT_TRUE(eventually([&program] { return processes_marked(program.mark()).size() == 3; }, 30s));
  process.signal(SIGHUP);
  const auto ended = program.finish(std::move(process));
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_EQ(program.record("base").at("status"), "completed");
}

TEST(RunCommand, AKilledControllerLeavesNoWorker) {
  const Program program;
  ChildProcess process = program.start(
      program.run_arguments(program.experiment({{"topology", "loopback"}, {"iterations", 100000}})));
  ASSERT_TRUE(eventually([&program] { return processes_marked(program.mark()).size() == 3; }, 30s));
  process.signal(SIGKILL);
  EXPECT_EQ(program.finish(std::move(process)).status.signal, SIGKILL);
  EXPECT_TRUE(eventually([&program] { return processes_marked(program.mark()).empty(); }, 2s));
}

}  // namespace
}  // namespace thinpipe

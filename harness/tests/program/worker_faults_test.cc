// SPDX-License-Identifier: Apache-2.0
// thinpipe run on the loopback with an experiment's worker events, and its reactions.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/file_descriptor.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Json on_loopback(const Json& more) {
  Json base = {{"topology", "loopback"}, {"workers", 2}, {"iterations", 10}};
  base.update(more);
  return base;
}

std::string file_of(const Program& program, const std::string& name) {
  return read_file(program.results() / "test" / program.record("base").at("run_id").get<std::string>() /
                   name);
}

// Expects the evaluations of iterations 0 to 10, each once, at increasing times.
void expect_whole_curve(const Json& curve) {
  ASSERT_EQ(curve.size(), 11);
  for (std::size_t i = 0; i < curve.size(); ++i) {
    EXPECT_EQ(curve[i].at("iteration"), i);
    if (i > 0) {
      EXPECT_GT(curve[i].at("train_time_s"), curve[i - 1].at("train_time_s"));
    }
  }
}

TEST(WorkerFaults, AKilledWorkerIsRestartedFromTheCheckpoint) {
  const Program program;
  const Json base =
      on_loopback({{"iteration_time", "150 ms"},
                   {"worker_events", {{{"at_iteration", 5}, {"worker", 1}, {"action", "kill"}}}},
                   {"on_worker_failure", {{"action", "restart"}, {"checkpoint_every_iterations", 3}}}});
  const auto ended = program.run(program.run_arguments(program.experiment(base)));
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_THAT(ended.errors, AllOf(HasSubstr("restarting: "), HasSubstr("resumes after iteration")));
  const Json record = program.record("base");
  EXPECT_EQ(record.at("status"), "completed");
  ASSERT_EQ(record.at("restarts").size(), 1);
  const Json& restart = record.at("restarts").at(0);
  EXPECT_EQ(restart.at("failure").at("rank"), 1);
  EXPECT_EQ(restart.at("failure").at("exit_status"), "signal 9 (Killed)");
  const auto after = restart.at("after_iteration").get<std::int64_t>();
  const auto resumed_after = restart.at("resumed_after_iteration").get<std::int64_t>();
  EXPECT_GE(after, 5);
  EXPECT_EQ(resumed_after % 3, 0);
  EXPECT_GE(resumed_after, 3);
  EXPECT_GE(restart.at("down_time_s"), 0);
  // Repeated iterations take their time twice.
  EXPECT_NEAR(restart.at("lost_train_time_s").get<double>(),
              0.15 * static_cast<double>(after - resumed_after), 1e-9);
  EXPECT_NEAR(record.at("train_time_s").get<double>(), 0.15 * static_cast<double>(10 + after - resumed_after),
              1e-9);
  EXPECT_EQ(record.at("iterations"), 10);
  EXPECT_EQ(record.at("traffic").at("payload_bytes_per_worker"), 400 * (10 + after - resumed_after));
  expect_whole_curve(record.at("curve"));
  const Json& event = record.at("worker_events").at(0);
  EXPECT_EQ(event.at("action"), "kill");
  EXPECT_GE(event.at("iteration"), 5);
  EXPECT_THAT(program.written(), Not(testing::Contains("iteration")))
      << "checkpoints are removed with the run";
  EXPECT_THAT(
      file_of(program, "controller.log"),
      AllOf(HasSubstr("info    worker 1 has started, process "), HasSubstr("worker event, after iteration"),
            HasSubstr("error   worker 1, crash: "), HasSubstr("resumes after iteration"),
            HasSubstr("the run is completed, after iteration 10")));
}

TEST(WorkerFaults, WithoutACheckpointYetAllBeginsAgain) {
  const Program program;
  const Json base = on_loopback(
      {{"fault", {{"kind", "crash"}, {"iteration", 3}, {"once", true}}}, {"on_worker_failure", "restart"}});
  const auto ended = program.run(program.run_arguments(program.experiment(base)));
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  const Json record = program.record("base");
  EXPECT_EQ(record.at("restarts").at(0).at("resumed_after_iteration"), 0);
  EXPECT_EQ(record.at("restarts").at(0).at("after_iteration"), 2);
  expect_whole_curve(record.at("curve"));
}

TEST(WorkerFaults, TheLastFailureIsTheRunsOnceRestartsAreUsedUp) {
  const Program program;
  const Json base = on_loopback({{"fault", {{"kind", "crash"}, {"rank", 1}, {"iteration", 3}}},
                                 {"on_worker_failure", {{"action", "restart"}, {"at_most", 2}}}});
  const auto ended = program.run(program.run_arguments(program.experiment(base)));
  EXPECT_EQ(ended.status.code, 1);
  const Json record = program.record("base");
  EXPECT_EQ(record.at("status"), "failed");
  EXPECT_EQ(record.at("error").at("kind"), "crash");
  EXPECT_EQ(record.at("restarts").size(), 2);
}

TEST(WorkerFaults, AKilledWorkerEndsARunThatDoesNotRestart) {
  const Program program;
  const Json base = on_loopback({{"iteration_time", "150 ms"},
                                 {"worker_events", {{{"at", "200 ms"}, {"worker", 0}, {"action", "kill"}}}}});
  EXPECT_EQ(program.run(program.run_arguments(program.experiment(base))).status.code, 1);
  const Json record = program.record("base");
  EXPECT_EQ(record.at("error").at("rank"), 0);
  EXPECT_EQ(record.at("error").at("exit_status"), "signal 9 (Killed)");
  EXPECT_GE(record.at("worker_events").at(0).at("happened_s"), 0.2);
  EXPECT_EQ(record.at("restarts"), Json::array());
}

TEST(WorkerFaults, APausedWorkerGoesOnWhereItIsResumed) {
  const Program program;
  const Json base = on_loopback({{"iteration_time", "150 ms"},
                                 {"worker_events",
                                  {{{"at_iteration", 2}, {"worker", 0}, {"action", "pause"}},
                                   {{"at", "1500 ms"}, {"worker", 0}, {"action", "resume"}}}}});
  const auto ended = program.run(program.run_arguments(program.experiment(base)));
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  const Json events = program.record("base").at("worker_events");
  // Rank 0 reports nothing while it is paused, and all ten iterations take 1.5 s without a pause.
  EXPECT_LT(events.at(1).at("iteration"), 10);
  EXPECT_GE(events.at(1).at("happened_s"), 1.5);
}

TEST(WorkerFaults, AStragglerIsToldAndAnEventThatCameTooLateIsWarnedOf) {
  const Program program;
  const Json base =
      on_loopback({{"iterations", 4},
                   {"iteration_time", "300 ms"},
                   {"worker_events",
                    {{{"worker", 1}, {"slowdown", 2}}, {{"at", "1 h"}, {"worker", 0}, {"action", "kill"}}}}});
  const auto ended = program.run(program.run_arguments(program.experiment(base)));
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_THAT(ended.errors, AllOf(HasSubstr("worker_events/1"), HasSubstr("is after the end of training"),
                                  Not(HasSubstr("took 0 s"))));
  EXPECT_EQ(Json::parse(file_of(program, "worker-1.json")).at("slowdowns"),
            Json::array({{{"at_iteration", 0}, {"factor", 2.0}}}));
  EXPECT_EQ(Json::parse(file_of(program, "worker-0.json")).at("slowdowns"), Json::array());
  EXPECT_TRUE(program.record("base").at("worker_events").at(1).at("iteration").is_null());
}

TEST(WorkerFaults, TheLogsLevelIsTheUsers) {
  const Program program;
  const auto experiment = program.experiment(on_loopback(Json::object()));
  EXPECT_EQ(program.run(program.run_arguments(experiment, {"--log-level", "error"})).status.code, 0);
  EXPECT_EQ(file_of(program, "controller.log"), "");
  EXPECT_EQ(Json::parse(file_of(program, "worker-0.json")).at("log_level"), "error");
  const auto wrong = program.run(program.run_arguments(experiment, {"--log-level", "loud"}));
  EXPECT_EQ(wrong.status.code, 2);
  EXPECT_THAT(wrong.errors, HasSubstr("debug"));
}

}  // namespace
}  // namespace thinpipe

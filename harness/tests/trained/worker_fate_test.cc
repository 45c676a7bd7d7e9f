// SPDX-License-Identifier: Apache-2.0
// Real workers that die, stop or lose their link during training: never a silent hang, always a record that
// names the rank.
#include <csignal>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/file_descriptor.hh"
#include "common/support/tests/paths.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::MatchesRegex;
using namespace std::chrono_literals;

// Two workers that would train for hours.
Json endless(const Json& more) {
  Json base = {{"workers", 2},
               {"model", {{"name", "mlp"}}},
               {"dataset", {{"name", "synthetic"}}},
               {"training", {{"epochs", 1000000}, {"evaluate_every_iterations", 1000000}}}};
  base.update(more, true);
  return base;
}

// Returns the worker's process, found by its worker file; 0 if there is none yet.
pid_t process_of(const Program& program, int rank) {
  for (const pid_t pid : processes_marked(program.mark())) {
    try {
      const std::string command = read_file("/proc/" + std::to_string(pid) + "/cmdline");
      if (command.find("worker-" + std::to_string(rank) + ".json") != std::string::npos) return pid;
    } catch (const SystemError&) {
      continue;  // it has ended in the meantime
    }
  }
  return 0;
}

bool trains(const Program& program) {
  for (const auto& entry : fs::recursive_directory_iterator(program.folder())) {
    if (entry.path().filename() == "iterations.jsonl" &&
        read_file(entry.path()).find(R"("event":"iteration")") != std::string::npos)
      return true;
  }
  return false;
}

// Trains, sends the signal to rank 1, and returns the error of the record.
Json error_after(int signal) {
  const Program program(built_program("thinpipe-trainer"));
  ChildProcess run = program.start(program.run_arguments(
      program.experiment(endless({{"topology", "loopback"}})), {"--hang-timeout", "2 s"}));
  EXPECT_TRUE(eventually([&] { return trains(program); }, 60s));
  const pid_t worker = process_of(program, 1);
  EXPECT_GT(worker, 0);
  if (worker > 0) ::kill(worker, signal);
  const auto ended = program.finish(std::move(run));
  EXPECT_EQ(ended.status.code, 1) << ended.errors;
  EXPECT_EQ(program.record("base").at("status"), "failed");
  EXPECT_TRUE(processes_marked(program.mark()).empty());
  return program.record("base").at("error");
}

TEST(WorkerFate, AKilledWorkerIsNamedWithItsSignal) {
  const Json error = error_after(SIGKILL);
  EXPECT_EQ(error.at("kind"), "crash");
  EXPECT_EQ(error.at("rank"), 1);
  EXPECT_EQ(error.at("exit_status"), "signal 9 (Killed)");
}

TEST(WorkerFate, AStoppedWorkerIsNamedWithItsLastSignOfLife) {
  const Json error = error_after(SIGSTOP);
  EXPECT_EQ(error.at("kind"), "hang");
  EXPECT_EQ(error.at("rank"), 1);
  EXPECT_THAT(
      error.at("message").get<std::string>(),
      MatchesRegex("has sent no heartbeat for [0-9]+ s, last [a-z]+ after iteration [0-9]+; its process is "
                   "stopped"));
  // The other worker's state is recorded, too.
  EXPECT_THAT(error.at("workers").at(0).get<std::string>(), HasSubstr("after iteration"));
}

// A run with a straggler, killed and restarted from a checkpoint, has exactly the parameters of an
// undisturbed run.
TEST(WorkerFate, ARestartedRunEndsWithTheParametersOfAnUndisturbedOne) {
  const Program program(built_program("thinpipe-trainer"));
  const Json base = {{"topology", "loopback"},
                     {"workers", 2},
                     {"model", {{"name", "mlp"}}},
                     {"dataset", {{"name", "synthetic"}, {"train_examples", 4096}}},
                     {"synchroniser", {{"name", "topk"}, {"ratio", 0.1}}},
                     {"training", {{"epochs", 2}, {"batch_size_per_worker", 16}}}};
  const Json sweep = {
      {"fate",
       {{"undisturbed", Json::object()},
        {"restarted",
         {{"worker_events",
           {{{"at_iteration", 100}, {"worker", 1}, {"action", "kill"}}, {{"worker", 0}, {"slowdown", 4}}}},
          {"on_worker_failure", {{"action", "restart"}, {"checkpoint_every_iterations", 30}}}}}}}};
  const auto ended = program.run(program.run_arguments(program.experiment(base, sweep)));
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  const Json undisturbed = program.record("undisturbed");
  const Json restarted = program.record("restarted");
  ASSERT_EQ(restarted.at("restarts").size(), 1) << ended.errors;
  EXPECT_GE(restarted.at("restarts").at(0).at("resumed_after_iteration"), 90);
  EXPECT_EQ(restarted.at("parameters_hash"), undisturbed.at("parameters_hash"));
  for (std::size_t i = 0; i < undisturbed.at("curve").size(); ++i) {
    EXPECT_EQ(restarted.at("curve").at(i).at("test_loss"), undisturbed.at("curve").at(i).at("test_loss"));
  }
}

TEST(WorkerFate, ALinkDownForLongerThanTheTimeoutEndsTheRun) {
  const Program program(built_program("thinpipe-trainer"));
  std::ofstream(program.folder() / "wire.json") << R"({"name": "wire",
      "switches": ["hub"], "hosts": ["w0", "w1"],
      "links": [{"between": ["w0", "hub"]}, {"between": ["w1", "hub"], "rate": "100 Mbit/s"}]})";
  const Json base = endless({{"topology", "wire.json"},
                             {"collective", {{"name", "gloo"}, {"timeout", "3 s"}}},
                             {"network_events", {{{"at", "1 s"}, {"link", "w1-hub"}, {"state", "down"}}}}});
  const auto ended = program.run(program.run_arguments(program.experiment(base)));
  EXPECT_EQ(ended.status.code, 1) << ended.errors;
  const Json error = program.record("base").at("error");
  EXPECT_EQ(error.at("kind"), "collective");
  EXPECT_TRUE(error.at("rank").is_number());
  EXPECT_THAT(error.at("message").get<std::string>(), HasSubstr("3"));
  EXPECT_EQ(program.record("base").at("network_events").at(0).at("requested").at("state"), "down");
}

}  // namespace
}  // namespace thinpipe

// SPDX-License-Identifier: Apache-2.0
// Runs that are stopped by SIGTERM and continued by the same command: the results are those of one run.
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
using testing::Not;
using namespace std::chrono_literals;

// A run of some seconds.
Json base_of(const Json& more) {
  Json base = {
      {"model", {{"name", "mlp"}}},
      {"dataset", {{"name", "synthetic"}, {"train_examples", 4096}}},
      {"synchroniser", {{"name", "topk"}, {"ratio", 0.1}}},
      {"training", {{"epochs", 20}, {"batch_size_per_worker", 16}, {"evaluate_every_iterations", 128}}}};
  base.update(more);
  return base;
}

struct Interrupted {
  explicit Interrupted(const Json& more)
      : program(built_program("thinpipe-trainer")),
        arguments(program.run_arguments(program.experiment(base_of(more)))) {}

  fs::path file(const std::string& name) const {
    return program.results() / "test" / program.record("base").at("run_id").get<std::string>() / name;
  }

  std::int64_t lines() const {
    if (!fs::exists(program.results() / "test")) return 0;
    for (const auto& entry : fs::directory_iterator(program.results() / "test")) {
      const fs::path file = entry.path() / "iterations.jsonl";
      if (!fs::exists(file)) continue;
      const std::string text = read_file(file);
      return std::ranges::count(text, '\n');
    }
    return 0;
  }

  // Starts the command, and sends a signal to it when it has done some iterations more.
  Program::Ended stop(int signal) const {
    const std::int64_t before = lines();
    ChildProcess run = program.start(arguments);
    // A start from the beginning empties the file.
    EXPECT_TRUE(eventually([&] { return lines() > before + 50; }, 60s));
    run.signal(signal);
    return program.finish(std::move(run));
  }

  Program program;
  std::vector<std::string> arguments;
};

Json undisturbed(const Json& more, std::string* trace = nullptr) {
  const Interrupted run(more);
  const auto ended = run.program.run(run.arguments);
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  if (trace != nullptr) *trace = read_file(run.file("communication-trace.json"));
  return run.program.record("base");
}

void expect_one_run(const Json& continued, const Json& whole) {
  EXPECT_EQ(continued.at("status"), "completed");
  for (const char* member : {"iterations", "parameters_hash", "skipped_steps", "synchroniser"})
    EXPECT_EQ(continued.at(member), whole.at(member)) << member;
  for (const char* member :
       {"payload_bytes_per_worker", "sent_bytes_per_worker", "delivered_bytes_per_worker"})
    EXPECT_EQ(continued.at("traffic").at(member), whole.at("traffic").at(member)) << member;
  for (const char* member : {"effective_density", "vnmse"})
    EXPECT_EQ(continued.at("compression").at(member), whole.at("compression").at(member)) << member;
  ASSERT_EQ(continued.at("curve").size(), whole.at("curve").size());
  for (std::size_t i = 0; i < whole.at("curve").size(); ++i) {
    for (const char* member : {"iteration", "train_loss", "test_loss", "test_accuracy"})
      EXPECT_EQ(continued.at("curve")[i].at(member), whole.at("curve")[i].at(member)) << member;
  }
  EXPECT_FALSE(continued.contains("checkpoint"));
  EXPECT_FALSE(whole.contains("interruptions"));
}

TEST(InterruptedRun, ALiveRunContinuesAsIfItHadNotBeenStopped) {
  const Json training = {{"epochs", 6}, {"batch_size_per_worker", 16}, {"evaluate_every_iterations", 128}};
  const Json more = {{"topology", "pair"}, {"training", training}};
  const Json whole = undisturbed(more);
  const Interrupted run(more);
  const auto first = run.stop(SIGTERM);
  EXPECT_EQ(first.status.code, 1);
  EXPECT_THAT(first.errors, HasSubstr("stops with a checkpoint"));
  const Json interrupted = run.program.record("base");
  ASSERT_EQ(interrupted.at("status"), "interrupted") << first.errors;
  const auto after = interrupted.at("checkpoint").at("after_iteration").get<std::int64_t>();
  EXPECT_EQ(after, interrupted.at("iterations"));
  EXPECT_TRUE(fs::exists(run.program.results() / "test" /
                         interrupted.at("checkpoint").at("path").get<std::string>()));

  // What a killed controller did does not count.
  run.stop(SIGKILL);
  EXPECT_EQ(run.program.record("base"), interrupted);

  const auto second = run.stop(SIGTERM);
  EXPECT_THAT(second.errors, HasSubstr("continues after iteration " + std::to_string(after)));
  const auto last = run.program.run(run.arguments);
  EXPECT_EQ(last.status.code, 0) << last.errors;
  const Json record = run.program.record("base");
  expect_one_run(record, whole);
  ASSERT_EQ(record.at("interruptions").size(), 2);
  EXPECT_EQ(record.at("interruptions").at(0).at("after_iteration"), after);
  EXPECT_GT(record.at("interruptions").at(1).at("after_iteration"), after);
  EXPECT_EQ(record.at("interruptions").at(0).at("train_time_s"), interrupted.at("train_time_s"));

  double sum_s = 0;
  std::ifstream lines(run.file("iterations.jsonl"));
  std::int64_t iterations = 0;
  for (std::string line; std::getline(lines, line);) {
    const Json event = Json::parse(line);
    if (event.at("event") != "iteration") continue;
    EXPECT_EQ(event.at("iteration"), ++iterations);
    sum_s += event.at("iteration_time_s").get<double>();
  }
  EXPECT_NEAR(record.at("train_time_s").get<double>(), sum_s, 1e-6 * sum_s);
  for (const auto& [direction, bytes] : whole.at("traffic").at("wire_bytes").items()) {
    const auto expected = bytes.get<double>();
    EXPECT_NEAR(record.at("traffic").at("wire_bytes").at(direction).get<double>(), expected, 0.05 * expected);
    EXPECT_GT(record.at("traffic").at("utilisation").at(direction), 0);
  }
  EXPECT_THAT(record.at("fidelity").dump(),
              HasSubstr("before the interruption after iteration " + std::to_string(after)));
  EXPECT_FALSE(fs::exists(run.file("interrupted")));
  EXPECT_FALSE(fs::exists(run.file("stop")));
}

class InterruptedConvergence : public testing::TestWithParam<Json> {};

TEST_P(InterruptedConvergence, LeavesTheTraceOfOneRun) {
  const Json more = {{"mode", "converge"}, {"workers", 2}, {"synchroniser", GetParam()}};
  std::string trace;
  const Json whole = undisturbed(more, &trace);
  const Interrupted run(more);
  run.stop(SIGTERM);
  ASSERT_TRUE(run.program.record("base").contains("checkpoint"));
  const auto last = run.program.run(run.arguments);
  EXPECT_EQ(last.status.code, 0) << last.errors;
  const Json record = run.program.record("base");
  expect_one_run(record, whole);
  EXPECT_EQ(record.at("interruptions").at(0).at("train_time_s"), nullptr);
  EXPECT_EQ(read_file(run.file("communication-trace.json")), trace);
}

INSTANTIATE_TEST_SUITE_P(Methods, InterruptedConvergence,
                         testing::Values(Json{{"name", "topk"}, {"ratio", 0.1}}, Json{{"name", "fp16"}},
                                         Json{{"name", "streaming_diloco"},

                                              {"local_steps", 16},
                                              {"fragments", 2},
                                              {"overlap_steps", 3}}),
                         [](const auto& tested) {
                           return tested.param.at("name").template get<std::string>();
                         });

TEST(InterruptedRun, FreshStartsFromTheBeginning) {
  const Interrupted run(Json{{"topology", "loopback"}});
  run.stop(SIGTERM);
  ASSERT_TRUE(run.program.record("base").contains("checkpoint"));
  auto fresh = run.arguments;
  fresh.emplace_back("--fresh");
  const auto ended = run.program.run(fresh);
  EXPECT_THAT(ended.errors, Not(HasSubstr("continues after")));
  EXPECT_FALSE(run.program.record("base").contains("interruptions"));
}

TEST(InterruptedRun, ARequeuedSlurmJobContinuesWhatItBeganUnderFresh) {
  Interrupted run(Json{{"topology", "loopback"}});
  run.arguments.emplace_back("--fresh");
  {
    const InSlurmJob in("7", 0);
    run.stop(SIGTERM);
  }
  ASSERT_TRUE(run.program.record("base").contains("checkpoint"));
  const Json before = run.program.record("base");
  {
    const InSlurmJob in("7", 1);
    const auto ended = run.program.run(run.arguments);
    EXPECT_THAT(ended.errors, HasSubstr("continues after iteration"));
  }
  const Json record = run.program.record("base");
  ASSERT_EQ(record.at("interruptions").size(), 1);
  EXPECT_EQ(record.at("interruptions").at(0).at("after_iteration"), before.at("iterations"));
}

TEST(InterruptedRun, ARequeuedSlurmJobDoesNotContinueUnderFreshWhatAnotherBegan) {
  Interrupted run(Json{{"topology", "loopback"}});
  {
    const InSlurmJob in("7", 0);
    run.stop(SIGTERM);
  }
  ASSERT_TRUE(run.program.record("base").contains("checkpoint"));
  run.arguments.emplace_back("--fresh");
  const InSlurmJob in("8", 1);
  const auto ended = run.program.run(run.arguments);
  EXPECT_THAT(ended.errors, Not(HasSubstr("continues after")));
  EXPECT_FALSE(run.program.record("base").contains("interruptions"));
}

TEST(InterruptedRun, WithoutItsCheckpointItStartsFromTheBeginning) {
  const Interrupted run(Json{{"topology", "loopback"}});
  run.stop(SIGTERM);
  fs::remove_all(run.file("interrupted"));
  const auto ended = run.program.run(run.arguments);
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_FALSE(run.program.record("base").contains("interruptions"));
}

}  // namespace
}  // namespace thinpipe

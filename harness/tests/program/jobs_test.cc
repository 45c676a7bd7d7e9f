// SPDX-License-Identifier: Apache-2.0
// thinpipe run --jobs: several controllers for one sweep.
#include <algorithm>
#include <csignal>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

const Json six_seeds = {{"seed", {1, 2, 3, 4, 5, 6}}};

TEST(Jobs, SeveralRunsGoOnAtATimeAndEachIsRunOnce) {
  const Program program;
  const std::string experiment = program.experiment(
      {{"topology", "loopback"}, {"workers", 1}, {"iterations", 10}, {"iteration_time", "50 ms"}}, six_seeds);
  if (std::thread::hardware_concurrency() < 2)
    GTEST_SKIP() << "this machine has one core, so --jobs is refused";
  const auto ended = program.run(program.run_arguments(experiment, {"--jobs", "2"}));
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  std::vector<std::pair<std::string, std::string>> times;
  for (const auto& seed : six_seeds.at("seed")) {
    const Json record = program.record(seed.dump());
    EXPECT_EQ(record.at("status"), "completed");
    EXPECT_EQ(record.at("curve").size(), 11) << "two controllers executed it";
    times.emplace_back(record.at("provenance").at("started_at"), record.at("provenance").at("ended_at"));
  }
  std::ranges::sort(times);
  EXPECT_TRUE(std::ranges::any_of(times, [&](const auto& run) {
    return std::ranges::any_of(
        times, [&](const auto& other) { return run.first < other.first && other.first < run.second; });
  })) << "no two runs overlapped";
  EXPECT_THAT(ended.output, AllOf(HasSubstr("1"), HasSubstr("6")));
  EXPECT_THAT(processes_marked(program.mark()), IsEmpty());
}

TEST(Jobs, EachIsRunOnceAlsoIfAllAreRepeated) {
  const Program program;
  if (std::thread::hardware_concurrency() < 2)
    GTEST_SKIP() << "this machine has one core, so --jobs is refused";
  const Json slow = {{"iteration_time", "200 ms"}};  // its controller is busy while the other does the rest
  const std::string experiment =
      program.experiment({{"topology", "loopback"}, {"workers", 1}, {"iterations", 10}},
                         {{"run", {{"first", {{"seed", 2}}}, {"slow", slow}, {"third", {{"seed", 3}}}}}});
  ASSERT_EQ(program.run(program.run_arguments(experiment)).status.code, 0);
  const std::string before = started_at(program.record("third"));
  const auto ended = program.run(program.run_arguments(experiment, {"--jobs", "2", "--fresh"}));
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  for (const std::string label : {"first", "slow", "third"}) {
    const std::string start = "] " + label + ": starting";
    const auto first = ended.errors.find(start);
    ASSERT_NE(first, std::string::npos) << ended.errors;
    EXPECT_EQ(ended.errors.find(start, first + 1), std::string::npos) << ended.errors;
    EXPECT_EQ(program.record(label).at("status"), "completed");
  }
  EXPECT_NE(started_at(program.record("third")), before);
}

// It would be the first of two requests to stop for the others, and the second one leaves no time for checkpoints.
TEST(Jobs, TheTerminalsInterruptDoesNotReachTheOtherControllers) {
  const Program program;
  if (std::thread::hardware_concurrency() < 2)
    GTEST_SKIP() << "this machine has one core, so --jobs is refused";
  const std::string experiment =
      program.experiment({{"topology", "loopback"}, {"workers", 1}, {"iterations", 100000}}, six_seeds);
  ChildProcess run = program.start(program.run_arguments(experiment, {"--jobs", "2"}));
  ASSERT_TRUE(eventually(
      [&program] {
        const auto written = program.written();
        return std::ranges::count(written, "iterations.jsonl") == 2;
      },
      30s));
  std::set<pid_t> groups;  // of the controllers
  for (const pid_t process : processes_marked(program.mark())) {
    if (read_file(fmt::format("/proc/{}/comm", process)) == "thinpipe\n") groups.insert(::getpgid(process));
  }
  EXPECT_EQ(groups.size(), 2U);
  run.signal(SIGINT);
  EXPECT_EQ(program.finish(std::move(run)).status.code, 1);
  EXPECT_THAT(processes_marked(program.mark()), IsEmpty());
}

TEST(Jobs, ThatHaveNothingToDoAreNotChecked) {
  const Program program;
  const std::string experiment = program.experiment(loopback, {{"seed", {1}}});
  ASSERT_EQ(program.run(program.run_arguments(experiment)).status.code, 0);
  const auto ended = program.run(program.run_arguments(experiment, {"--jobs", "1000"}));
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr("completed earlier"));
}

TEST(Jobs, AreRefusedWhereRunsWouldDisturbEachOther) {
  const Program program;
  const auto ended = program.run(program.run_arguments(
      program.experiment({{"topology", "three-switch"}}, six_seeds), {"--jobs", "1000"}));
  EXPECT_EQ(ended.status.code, 2);
  EXPECT_THAT(ended.errors, AllOf(HasSubstr("--jobs 1000"), HasSubstr("cores, but there are")));
  EXPECT_THAT(program.written(), IsEmpty());
}

}  // namespace
}  // namespace thinpipe

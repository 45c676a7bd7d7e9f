// SPDX-License-Identifier: Apache-2.0
// thinpipe run --jobs: several controllers for one sweep.
#include <algorithm>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

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

// SPDX-License-Identifier: Apache-2.0
// thinpipe plan with the stand-in for the worker program.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/tests/program.hh"
#include "netem/topology/frame.hh"

namespace thinpipe {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(PlanCommand, PredictsEachRunAndWritesNothing) {
  const Program program;
  const std::string experiment =
      program.experiment({{"topology", "three-switch"}, {"iteration_time", "20 ms"}, {"iterations", 50}},
                         {{"bottleneck.rate", {"100 Mbit/s", "1 Gbit/s"}}});
  const auto ended = program.run({"plan", experiment, "--json"});
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  const Json rows = Json::parse(ended.output);
  ASSERT_EQ(rows.size(), 2);
  for (const Json& row : rows) {
    const Json& prediction = row.at("prediction");
    const double exchange_s =
        8 * 1000.0 / netem::goodput_of_cap / (row.at("label") == "1 Gbit/s" ? 1e9 : 1e8);
    EXPECT_NEAR(prediction.at("exchange_time_per_iteration_s").get<double>(), exchange_s, 1e-12);
    EXPECT_EQ(prediction.at("compute_time_alone_s"), 0.02);
    const auto iteration_s = prediction.at("iteration_time_s").get<double>();
    EXPECT_GE(iteration_s, 0.02 + 0.75 * exchange_s) << "the second bucket is three quarters of the gradient";
    EXPECT_DOUBLE_EQ(prediction.at("train_time_s").get<double>(), 50 * iteration_s);
    EXPECT_EQ(prediction.at("memory_bytes"), 8e6);
    EXPECT_TRUE(prediction.at("machine_shortfall").is_null());
  }
  // Both runs compute the same.
  EXPECT_EQ(std::ranges::count(ended.errors, '\n'), 1) << ended.errors;
  EXPECT_THAT(program.written(), IsEmpty());
}

TEST(PlanCommand, DoesNotPredictTimesOfAMethodWithUnknownTraffic) {
  const Program program;
  const std::filesystem::path trainer = program.folder() / "mine.sh";
  std::ofstream(trainer) << "#!/bin/sh\n";
  std::filesystem::permissions(trainer, std::filesystem::perms::owner_all);
  const std::string experiment = program.experiment(
      {{"topology", "three-switch"}, {"trainer", {{"program", "mine.sh"}, {"method", "mine"}}}});
  const auto ended = program.run({"plan", experiment, "--json"});
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  const Json prediction = Json::parse(ended.output).at(0).at("prediction");
  EXPECT_TRUE(prediction.at("iteration_time_s").is_null());
  EXPECT_TRUE(prediction.at("train_time_s").is_null());
  EXPECT_FALSE(prediction.at("compute_time_alone_s").is_null());
  EXPECT_THAT(program.run({"plan", experiment}).output, HasSubstr("can carry it")) << "memory is known";
}

TEST(PlanCommand, TakesOnlyConvergenceRunsOfADevicesReplaysForMeasured) {
  const Program program;
  const std::string experiment = program.experiment({{"topology", "three-switch"},
                                                     {"mode", "replay"},
                                                     {"compute_profile", "a40"},
                                                     {"iteration_time", "20 ms"}});
  const Json rows = Json::parse(program.run({"plan", experiment, "--json"}).output);
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows.at(0).at("prediction").at("compute_time_alone_s"), 0.02);
  for (const char* key : {"compute_time_alone_s", "iteration_time_s", "train_time_s", "memory_bytes"})
    EXPECT_TRUE(rows.at(1).at("prediction").at(key).is_null()) << key;
  EXPECT_FALSE(rows.at(1).at("prediction").at("exchange_time_s").is_null());
}

TEST(PlanCommand, SaysWhatItsPredictionsLeaveOut) {
  const Program program;
  const Json slow = {{"worker_events", {{{"worker", 1}, {"slowdown", 3}}}}};
  const std::string experiment = program.experiment({{"topology", "three-switch"}},
                                                    {{"faults", {{"none", Json::object()}, {"slow", slow}}}});
  const Json rows = Json::parse(program.run({"plan", experiment, "--json"}).output);
  EXPECT_EQ(rows.at(0).at("prediction").at("left_out"), Json::array());
  EXPECT_EQ(rows.at(1).at("prediction").at("left_out"), Json::array({"worker_events"}));
  const char* const note = R"(The predictions ignore "cross_traffic" and "worker_events".)";
  EXPECT_THAT(program.run({"plan", experiment}).output, HasSubstr(note));
  EXPECT_THAT(program.run({"plan", experiment, "--only", "none"}).output, Not(HasSubstr(note)));
}

TEST(PlanCommand, NotesRunsThatUseNoBottleneck) {
  const Program program;
  const std::string experiment = program.experiment(
      {{"topology", "three-switch"}}, {{"workers", {{"few", {{"workers", 3}}}, {"many", {{"workers", 4}}}}}});
  const auto note = [&](const std::string& only) {
    return program.run({"plan", experiment, "--no-measuring", "--only", only}).output;
  };
  EXPECT_THAT(note("*"), HasSubstr("1 of 2 runs cross no capped link"));
  EXPECT_THAT(note("many"), Not(HasSubstr("capped link:")));
}

TEST(PlanCommand, ItsTableSaysWhatItRestsOn) {
  const Program program;
  const std::string experiment = program.experiment({{"topology", "three-switch"}});
  const auto ended = program.run({"plan", experiment});
  EXPECT_THAT(ended.output,
              AllOf(HasSubstr("train time"), HasSubstr("can carry it"), HasSubstr("Iteration: ")));
  const auto at_once = program.run({"plan", experiment, "--no-measuring"});
  EXPECT_THAT(at_once.output, AllOf(Not(HasSubstr("can carry it")), Not(HasSubstr("Iteration: "))));
  EXPECT_EQ(at_once.errors, "");
}

}  // namespace
}  // namespace thinpipe

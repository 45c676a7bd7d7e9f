// SPDX-License-Identifier: Apache-2.0
// Wrong input that the trainer itself refuses: exit code 2 and one message, before anything starts.
#include <algorithm>
#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/paths.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

struct WrongInput {
  const char* name;
  const char* base;  // JSON
  const char* place;
  const char* rule;
};

class WrongInputs : public testing::TestWithParam<WrongInput> {};

TEST_P(WrongInputs, GiveExitCodeTwoAndOneMessage) {
  const WrongInput& wrong = GetParam();
  const Program program(built_program("thinpipe-trainer"));
  Json base = Json::parse(wrong.base);
  if (!base.contains("dataset")) base["dataset"] = {{"name", "synthetic"}};
  const std::string experiment = program.experiment(base);
  const auto ended = program.run(program.run_arguments(experiment));
  EXPECT_EQ(ended.status.code, 2);
  EXPECT_THAT(ended.errors, StartsWith("thinpipe: " + experiment + " at " + wrong.place + ": "));
  EXPECT_THAT(ended.errors, HasSubstr(wrong.rule));
  EXPECT_EQ(std::ranges::count(ended.errors, '\n'), 1) << ended.errors;
  EXPECT_EQ(ended.output, "");
  EXPECT_FALSE(fs::exists(program.results()));
}

INSTANTIATE_TEST_SUITE_P(
    RunCommand, WrongInputs,
    testing::Values(
        WrongInput{"UnknownKey", R"({"sede": 1})", "/base/sede", "did you mean \"seed\"?"},
        WrongInput{"UnknownKeyOfTheHarness", R"({"worker": 1})", "/base/worker", "did you mean \"workers\"?"},
        WrongInput{"UnknownOption", R"({"training": {"epoch": 1}})", "/base/training/epoch",
                   "did you mean \"epochs\"?"},
        WrongInput{"WrongUnit", R"({"buckets": {"size": "25 Mbit/s"}})", "/base/buckets/size",
                   "unknown unit"},
        WrongInput{"WrongUnitOfARate", R"({"bottleneck": {"rate": "100 MB"}})", "/base/bottleneck/rate",
                   "unknown unit"},
        WrongInput{"MissingDataset",
                   R"({"dataset": {"name": "fashion_mnist", "directory": "/no/such/folder"}})",
                   "/base/dataset/directory", "dataset-fashion-mnist"},
        WrongInput{"MethodWithATypo", R"({"synchroniser": {"name": "pactrian"}})", "/base/synchroniser/name",
                   "did you mean \"pactrain\"?"},
        WrongInput{"MethodAsAString", R"({"synchroniser": "topk"})", "/base/synchroniser",
                   R"(must be an object, such as {"name": "topk"})"},
        WrongInput{"OptionOfAnotherOptimiser", R"({"optimiser": {"beta1": 0.9}})", "/base/optimiser/beta1",
                   "Without a \"name\" these are the options of sgd"},
        WrongInput{"NetworkSensedWithoutOne", R"({"mode": "converge", "synchroniser": {"name": "netsense"}})",
                   "/base/synchroniser/name", "\"netsense\" works only in mode \"live\""},
        WrongInput{"NetworkSensedInAReplay",
                   R"({"mode": "simulate", "compute_profile": "a40", "synchroniser": {"name": "netsense"}})",
                   "/base/synchroniser/name", "\"netsense\" works only in mode \"live\""},
        WrongInput{"RatioZero", R"({"synchroniser": {"name": "topk", "ratio": 0}})",
                   "/base/synchroniser/ratio", "must be above 0"},
        WrongInput{"RatioAboveOne", R"({"synchroniser": {"name": "topk", "ratio": 1.5}})",
                   "/base/synchroniser/ratio", "at most 1"},
        WrongInput{"FewerHostsThanWorkers", R"({"workers": 9})", "/base/workers", "must be at most 8"}),
    [](const auto& tested) { return tested.param.name; });

TEST(RunCommand, ATopologyWhoseHostsAreDisconnectedIsWrongInput) {
  const Program program(built_program("thinpipe-trainer"));
  const fs::path topology = program.folder() / "apart.json";
  std::ofstream(topology) << R"({"name": "apart", "switches": ["left", "right"], "hosts": ["w0", "w1"],
                                 "links": [{"between": ["w0", "left"]}, {"between": ["w1", "right"]}]})";
  const auto ended = program.run(program.run_arguments(
      program.experiment({{"topology", "apart.json"}, {"dataset", {{"name", "synthetic"}}}})));
  EXPECT_EQ(ended.status.code, 2);
  EXPECT_THAT(ended.errors, StartsWith("thinpipe: " + topology.string()));
  EXPECT_EQ(std::ranges::count(ended.errors, '\n'), 1) << ended.errors;
  EXPECT_FALSE(fs::exists(program.results()));
}

TEST(RunCommand, EveryByteBetweenWorkersCrossesTheLink) {
  const Program program(built_program("thinpipe-trainer"));
  std::ofstream(program.folder() / "wire.json") << R"({"name": "wire", "hosts": ["w0", "w1"],
      "links": [{"between": ["w0", "w1"], "rate": "1 Gbit/s"}]})";
  const Json base = {{"topology", "wire.json"},
                     {"model", {{"name", "small_cnn"}}},
                     {"dataset", {{"name", "synthetic"}}},
                     {"training", {{"epochs", 1}, {"batch_size_per_worker", 32}}}};
  const auto ended = program.run(program.run_arguments(program.experiment(base)));
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  const Json traffic = program.record("base").at("traffic");
  const auto sent = traffic.at("sent_bytes_per_worker").get<double>();
  for (const char* direction : {"w0->w1", "w1->w0"}) {
    const auto wire = traffic.at("wire_bytes").at(direction).get<double>();
    EXPECT_GE(wire, sent) << direction << ": some traffic took another path";
    EXPECT_LE(wire, 1.2 * sent) << direction;
  }
}

TEST(RunCommand, TheSmokeExperimentTrainsOnTheLoopback) {
  const Program program(built_program("thinpipe-trainer"));
  const auto ended = program.run(program.run_arguments(source_path("experiments/smoke-loopback.json")));
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
}

// A Python without the package, which says so as Python does.
TEST(RunCommand, TellsHowToInstallThePackageInThePythonThatIsNamed) {
  const Program program(built_program("thinpipe-trainer"));
  const std::string python = program.folder() / "python3";
  std::ofstream(python) << "#!/bin/sh\necho \"$0: No module named $2\" >&2\nexit 1\n";
  fs::permissions(python, fs::perms::owner_all);
  ::setenv("THINPIPE_PYTHON", python.c_str(), 1);
  const auto ended = program.run({"plan", program.experiment({{"dataset", {{"name", "synthetic"}}}})});
  ::unsetenv("THINPIPE_PYTHON");
  EXPECT_EQ(ended.status.code, 1);
  EXPECT_THAT(ended.errors, HasSubstr("No module named thinpipe"));
  EXPECT_THAT(ended.errors, HasSubstr("THINPIPE_PYTHON is " + python +
                                      ": if it lacks thinpipe's package, install it with `" + python +
                                      " -m pip install .`, or unset the variable"));
}

}  // namespace
}  // namespace thinpipe

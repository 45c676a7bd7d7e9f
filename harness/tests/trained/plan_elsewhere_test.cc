// SPDX-License-Identifier: Apache-2.0
// An experiment that needs something that this machine lacks can be planned here, and run elsewhere.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/paths.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

Json on_cifar() {
  return {{"mode", "converge"},
          {"workers", 2},
          {"model", {{"name", "mlp"}, {"hidden", Json::array()}}},
          {"dataset", {{"name", "cifar10"}, {"directory", "not-here"}}},
          {"training", {{"batch_size_per_worker", 50}, {"epochs", 3}}}};
}

TEST(PlanElsewhere, IsMadeWithoutTheDataAndNamesThem) {
  const Program program(built_program("thinpipe-trainer"));
  const std::string experiment =
      program.experiment(on_cifar(), {{"dataset.train_examples", {nullptr, 5000}}, {"seed", {1, 2}}});
  const auto ended = program.run({"plan", experiment, "--json"});
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_EQ(ended.errors, "") << "the compute time cannot be measured";
  const Json rows = Json::parse(ended.output);
  ASSERT_EQ(rows.size(), 4) << "runs are distinct even without a final id";
  for (const Json& row : rows) {
    const bool whole = row.at("config").at("dataset").at("train_examples").is_null();
    EXPECT_EQ(row.at("plan").at("iterations"), 3 * (whole ? 50000 : 5000) / (2 * 50));
    EXPECT_TRUE(row.at("run_id").is_null()) << "it depends on the content of the data";
    const Json& missing = row.at("missing").at(0);
    EXPECT_EQ(missing.at("pointer"), "/base/dataset/directory");
    EXPECT_THAT(missing.at("message").get<std::string>(),
                AllOf(HasSubstr("not-here"), HasSubstr("https://www.cs.toronto.edu/~kriz/cifar-")));
  }
  const auto table = program.run({"plan", experiment});
  EXPECT_THAT(table.output,
              AllOf(HasSubstr("missing, see below"),
                    HasSubstr("4 of 4 runs: " + experiment + " at /base/dataset/directory: must contain")));
}

TEST(PlanElsewhere, NamesWhatADataSetInPythonLacks) {
  if (!std::filesystem::exists(built_program("python/thinpipe/_core.so")))
    GTEST_SKIP() << "this build has no Python package: install python3-dev, pybind11-dev and python3-torch";
  const Program program(built_program("thinpipe-trainer"));
  std::ofstream(program.folder() / "plays.py")
      << "def load():\n    raise ModuleNotFoundError('the plays are not installed: pip install plays')\n";
  Json base = on_cifar();
  base["dataset"] = {{"name", "plays.py:load"}};
  const std::string experiment = program.experiment(base);
  const auto planned = program.run({"plan", experiment, "--json"});
  ASSERT_EQ(planned.status.code, 0) << planned.errors;
  const Json row = Json::parse(planned.output).at(0);
  EXPECT_TRUE(row.at("run_id").is_null()) << "it depends on the content of the data";
  EXPECT_EQ(row.at("missing").at(0).at("pointer"), "/base/dataset/name");
  EXPECT_THAT(row.at("missing").at(0).at("message").get<std::string>(),
              AllOf(HasSubstr("plays.py:2: "), HasSubstr("pip install plays")));
  const auto ran = program.run(program.run_arguments(experiment));
  EXPECT_EQ(ran.status.code, 2);
  EXPECT_THAT(ran.errors, AllOf(HasSubstr("/base/dataset/name"), HasSubstr("pip install plays")));
}

TEST(PlanElsewhere, RunRefusesOnlyWhatIsToRun) {
  const Program program(built_program("thinpipe-trainer"));
  Json base = on_cifar();
  base["dataset"] = {{"name", "synthetic"}, {"train_examples", 100}, {"test_examples", 10}};
  const std::string experiment = program.experiment(
      base, {{"data", {{"here", Json::object()}, {"elsewhere", {{"dataset", on_cifar()["dataset"]}}}}}});
  const auto refused = program.run(program.run_arguments(experiment));
  EXPECT_EQ(refused.status.code, 2);
  EXPECT_THAT(refused.errors, StartsWith("thinpipe: " + experiment + " at /sweep/data/elsewhere/dataset"));
  const auto ran = program.run(program.run_arguments(experiment, {"--only", "here"}));
  EXPECT_EQ(ran.status.code, 0) << ran.errors;
}

}  // namespace
}  // namespace thinpipe

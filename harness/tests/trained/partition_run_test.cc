// SPDX-License-Identifier: Apache-2.0
// Runs whose workers have training examples of their own.
#include <fstream>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/paths.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Returns the base of a run with eight steps of two workers.
Json partitioned_run(const Json& partition) {
  return {{"mode", "converge"},
          {"workers", 2},
          {"model", {{"name", "mlp"}, {"hidden", {8}}}},
          {"dataset", {{"name", "synthetic"}, {"train_examples", 128}, {"test_examples", 50}}},
          {"training", {{"batch_size_per_worker", 8}, {"evaluate_every_iterations", 8}}},
          {"partition", partition}};
}

const Json dirichlet = {{"name", "dirichlet"}, {"alpha", 0.2}};

Json run(const Json& base) {
  const Program program(built_program("thinpipe-trainer"));
  const auto result = program.run(program.run_arguments(program.experiment(base)));
  EXPECT_EQ(result.status.code, 0) << result.errors;
  return program.record("base");
}

TEST(PartitionRun, RecordsTheSizesOfTheParts) {
  const Json record = run(partitioned_run(dirichlet));
  const auto sizes = record.at("provenance").at("examples_per_worker").get<std::vector<std::int64_t>>();
  EXPECT_EQ(sizes.size(), 2U);
  EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), 0), 128);
  EXPECT_NE(sizes[0], sizes[1]);
  EXPECT_EQ(record.at("config").at("partition"), dirichlet);
  const Json iid = run(partitioned_run({{"name", "iid"}}));
  EXPECT_FALSE(iid.at("provenance").contains("examples_per_worker"));
  EXPECT_EQ(iid.at("iterations"), record.at("iterations"));
  EXPECT_NE(iid.at("parameters_hash"), record.at("parameters_hash"));
}

// Every worker computes the partition itself, as a thread or as a process.
TEST(PartitionRun, IsTheSameInProcessesOfTheirOwn) {
  const Json converged = run(partitioned_run(dirichlet));
  Json base = partitioned_run(dirichlet);
  base["mode"] = "live";
  base["topology"] = "loopback";
  const Json live = run(base);
  EXPECT_EQ(live.at("parameters_hash"), converged.at("parameters_hash"));
  EXPECT_EQ(live.at("provenance").at("examples_per_worker"),
            converged.at("provenance").at("examples_per_worker"));
}

TEST(PartitionRun, ThatCannotBeIsRefusedByThePlan) {
  const Program program(built_program("thinpipe-trainer"));
  const auto refused = [&](const Json& partition) {
    const auto result =
        program.run({"plan", program.experiment(partitioned_run(partition)), "--no-measuring"});
    EXPECT_EQ(result.status.code, 2);
    return result.errors;
  };
  EXPECT_THAT(refused({{"name", "dirichlett"}}),
              AllOf(HasSubstr("/base/partition/name"), HasSubstr("dirichlet")));
  EXPECT_THAT(refused({{"name", "dirichlet"}, {"alpha", -1}}), HasSubstr("/base/partition/alpha"));
  EXPECT_THAT(
      refused({{"name", "classes_per_worker"}}),
      HasSubstr("/base/partition/classes: must be at least 5, so that 2 workers have all 10 classes"));
  EXPECT_THAT(refused({{"name", "by_source"}}),
              HasSubstr("/base/partition/name: needs the source of each example"));
}

TEST(PartitionRun, BySourceGoesByTheBoundsOfFiles) {
  const Program program(built_program("thinpipe-trainer"));
  const auto planned_id = [&](const std::string& folder, const std::vector<std::string>& texts,
                              const Json& partition) {
    const std::filesystem::path path = program.folder() / folder;
    std::filesystem::create_directories(path);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      std::ofstream(path / std::to_string(i)) << texts[i];
    }
    Json base = partitioned_run(partition);
    base["model"] = {{"name", "gpt"}, {"width", 8}, {"depth", 1}, {"heads", 1}};
    base["dataset"] = {{"name", "bytes"}, {"path", path}, {"sequence_length", 8}, {"test_share", 0.5}};
    base["training"] = {{"batch_size_per_worker", 2}};
    const auto planned = program.run({"plan", program.experiment(base), "--json", "--no-measuring"});
    EXPECT_EQ(planned.status.code, 0) << planned.errors;
    return Json::parse(planned.output).at(0).at("run_id");
  };
  // The same text for training and testing in all, divided into files in two ways.
  const std::vector<std::string> even = {std::string(200, 'x'), std::string(200, 'x')};
  const std::vector<std::string> uneven = {std::string(100, 'x'), std::string(300, 'x')};
  const Json by_source = {{"name", "by_source"}};
  EXPECT_EQ(planned_id("a", even, {{"name", "iid"}}), planned_id("b", uneven, {{"name", "iid"}}));
  EXPECT_NE(planned_id("a", even, by_source), planned_id("b", uneven, by_source));
  EXPECT_EQ(planned_id("a", even, by_source), planned_id("c", even, by_source));
}

}  // namespace
}  // namespace thinpipe

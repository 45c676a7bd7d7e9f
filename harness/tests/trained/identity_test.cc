// SPDX-License-Identifier: Apache-2.0
// Run ids, with data and weights as the trainer reads them.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/paths.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using testing::Contains;

std::vector<std::string> planned_ids(const Program& program, const std::string& experiment,
                                     const char* seeds = "1") {
  const auto planned = program.run({"plan", experiment, "--json", "--repeat", seeds});
  EXPECT_EQ(planned.status.code, 0) << planned.errors;
  std::vector<std::string> ids;
  for (const Json& row : Json::parse(planned.output)) ids.push_back(row.at("run_id"));
  return ids;
}

TEST(Identity, ShippedExperimentsStillHaveTheNamesOfTheReferenceResults) {
  const Program program(built_program("thinpipe-trainer"));
  for (const std::string name : {"quickstart", "merged-entries"}) {
    const auto ids = planned_ids(program, fmt::format("{}/{}.json", source_path("experiments"), name), "5");
    for (const Json& record : load_records(source_path("results/reference/") + name)) {
      EXPECT_THAT(ids, Contains(record.at("run_id").get<std::string>()));
    }
  }
}

TEST(Identity, DataGoByTheirContentWhereverTheyLie) {
  const Program program(built_program("thinpipe-trainer"));
  const fs::path folder = program.folder() / "data";
  fs::create_directory_symlink("/usr/share/datasets/fashion-mnist", folder);
  const auto ids = [&](const Json& dataset) {
    return planned_ids(program, program.experiment({{"topology", "loopback"}, {"dataset", dataset}}));
  };
  EXPECT_EQ(ids({{"name", "fashion_mnist"}, {"directory", folder}}), ids({{"name", "fashion_mnist"}}));
  const Json excerpt = {{"name", "fashion_mnist"}, {"train_examples", 1000}};
  Json excerpt_elsewhere = excerpt;
  excerpt_elsewhere["directory"] = folder;
  EXPECT_EQ(ids(excerpt_elsewhere), ids(excerpt));
  EXPECT_NE(ids(excerpt), ids({{"name", "fashion_mnist"}}));
}

TEST(Identity, DataFromPythonGoByTheirContent) {
  if (!fs::exists(built_program("python/thinpipe/_core.so")))
    GTEST_SKIP() << "this build has no Python package: install python3-dev, pybind11-dev and python3-torch";
  const Program program(built_program("thinpipe-trainer"));
  std::ofstream(program.folder() / "points.py") << R"(
import pathlib, torch

def load(scale: float = 1.0):
    points = torch.tensor([[float(x)] for x in pathlib.Path(__file__).with_name("points.txt").read_text().split()])
    return (points * scale, torch.arange(len(points)) % 2), (points, torch.arange(len(points)) % 2)
)";
  const auto ids_with = [&](const char* points) {
    std::ofstream(program.folder() / "points.txt") << points;
    return planned_ids(program, program.experiment({{"topology", "loopback"},
                                                    {"model", {{"name", "mlp"}, {"hidden", Json::array()}}},
                                                    {"dataset", {{"name", "points.py:load"}}},
                                                    {"training", {{"batch_size_per_worker", 1}}}}));
  };
  const auto ids = ids_with("1 2 3 4");
  EXPECT_NE(ids_with("1 2 3 5"), ids);
  EXPECT_EQ(ids_with("1 2 3 4"), ids);
}

}  // namespace
}  // namespace thinpipe

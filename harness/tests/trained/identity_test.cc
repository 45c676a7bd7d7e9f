// SPDX-License-Identifier: Apache-2.0
// Run ids, with data and weights as the trainer reads them.
#include <filesystem>

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

}  // namespace
}  // namespace thinpipe

// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/worker.hh"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "common/support/tests/temporary_folder.hh"
#include "trainer/commands/convergence.hh"
#include "trainer/training/tests/training.hh"

namespace thinpipe::trainer {
namespace {

std::string refusal_of(const Json& file, const std::function<void(const std::string& path)>& read) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "file.json";
  std::ofstream(path) << file;
  try {
    read(path);
    return "none";
  } catch (const InputError& error) {
    EXPECT_EQ(error.place().file, path);
    return error.place().pointer + ": " + error.message();
  }
}

std::string refusal_of_worker(const WorkFile& file) {
  return refusal_of(to_json(file), [](const std::string& path) { read_worker_file(path); });
}

TEST(ReadWorkerFile, RefusesAMethodThatOnlyExternalTrainersHave) {
  WorkFile file{.group_options = {.world_size = 2, .address = "127.0.0.1"},
                .config = testing::base_config(2)};
  EXPECT_EQ(refusal_of_worker(file), "none");
  file.method = "sketch";
  EXPECT_EQ(
      refusal_of_worker(file),
      "/method: is for external trainers; thinpipe-trainer's method is /config/synchroniser: remove it");
}

TEST(ReadWorkerFile, ChecksTheConfiguration) {
  WorkFile file{.group_options = {.world_size = 2, .address = "127.0.0.1"},
                .config = testing::base_config(2)};
  file.config["training"]["epochs"] = 0;
  EXPECT_EQ(refusal_of_worker(file), "/config/training/epochs: must be at least 1, but is 0");
}

TEST(ReadConvergenceFile, TakesATreeOfTheConfiguredWorkers) {
  const auto refusal = [](const std::vector<int>& parents) {
    return refusal_of(to_json(ConvergeFile{.reduction_tree = parents, .config = testing::base_config(2)}),
                      [](const std::string& path) { read_convergence_file(path); });
  };
  EXPECT_EQ(refusal({}), "none");
  EXPECT_EQ(refusal({1, -1}), "none");
  EXPECT_EQ(refusal({-1, 0, 0}), "/reduction_tree: must have 2 entries, one per worker, but has 3");
}

}  // namespace
}  // namespace thinpipe::trainer

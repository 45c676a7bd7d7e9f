// SPDX-License-Identifier: Apache-2.0
// Whole training runs with each method: workers stay alike, and a run that ends early continues as if it had not.
#include "trainer/synchronisers/tests/every_method.hh"

#include <fstream>

#include <gtest/gtest.h>

#include "common/support/tests/temporary_folder.hh"
#include "trainer/training/tests/training.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::base_config;
using trainer::testing::configured;
using trainer::testing::Result;
using trainer::testing::train;

struct Method {
  std::string name;
  Json changes;
};

class EveryMethod : public ::testing::TestWithParam<Method> {};

TEST_P(EveryMethod, KeepsAllWorkersBitIdenticalAfterEveryStep) {
  // Also with normalisation layers, whose running statistics differ among the workers between evaluations.
  Json changes = GetParam().changes;
  changes["model"] = {{"name", "resnet"}, {"width", 4}};
  changes["training"]["check_replicas_every_iterations"] = 1;
  Json config = base_config(3);
  config.merge_patch(changes);
  config["model"] = changes["model"];
  EXPECT_NO_THROW(train(parse_training_config(config, {"test", ""})));
}

TEST_P(EveryMethod, GoesOnFromACheckpointAsIfNothingHadHappened) {
  const TrainingConfig config = configured(3, GetParam().changes);
  const Result whole = train(config);
  const TemporaryFolder folder;
  const CheckpointOptions checkpoints{.directory = folder.path(), .every_iterations = 5};
  const Result first = train(config, checkpoints);  // leaves checkpoints of iterations 10 and 15
  EXPECT_EQ(first.summary["parameters_hash"], whole.summary["parameters_hash"]);
  // One worker has lost its newest file: all must resume from iteration 10.
  std::filesystem::remove(folder.path() / "rank-1.iteration-15.pt");
  const Result resumed = train(config, checkpoints);
  EXPECT_EQ(resumed.iterations.front()["iteration"], 11);
  EXPECT_EQ(resumed.resumed["iteration"], 10);
  EXPECT_EQ(resumed.resumed["train_time_s"], first.iterations[9]["train_time_s"]);
  EXPECT_EQ(resumed.summary["parameters_hash"], whole.summary["parameters_hash"]);
  EXPECT_EQ(resumed.summary["effective_density"], whole.summary["effective_density"]);
  EXPECT_EQ(resumed.collectives, whole.collectives);
}

// Rank 0 chooses the iteration, for all workers. A request may come in any state of a round.
TEST_P(EveryMethod, StopsOnRequestAndContinuesAsIfNothingHadHappened) {
  const TrainingConfig config = configured(3, GetParam().changes);
  const Result whole = train(config);
  const TemporaryFolder folder;
  std::vector<Json> iterations;
  std::optional<std::int64_t> resume_after;
  Result part;
  do {
    const std::string file = folder.path() / "stop";
    std::ofstream(file) << std::string(16, '\0');
    StopRequest request(file);
    request.request();
    part = train(config, {}, nullptr, false,
                 {.request = &request, .directory = folder.path(), .resume_after = resume_after});
    if (part.stopped_after) {
      EXPECT_GT(*part.stopped_after, resume_after.value_or(0));
      EXPECT_TRUE(part.summary.is_null());
    }
    resume_after = part.stopped_after;
    iterations.insert(iterations.end(), part.iterations.begin(), part.iterations.end());
  } while (resume_after);
  ASSERT_EQ(iterations.size(), whole.iterations.size());
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    for (const char* member : {"iteration", "train_loss"})
      EXPECT_EQ(iterations[i][member], whole.iterations[i][member]) << i << ", " << member;
    // Differences of sums since the start, whose rounding depends on when that was.
    for (const char* member : {"payload_bytes", "sent_bytes"})
      EXPECT_NEAR(iterations[i][member].get<double>(), whole.iterations[i][member].get<double>(), 1e-6)
          << i << ", " << member;
  }
  EXPECT_EQ(part.summary["parameters_hash"], whole.summary["parameters_hash"]);
  EXPECT_EQ(part.summary["effective_density"], whole.summary["effective_density"]);
}

std::vector<Method> registered_methods() {
  std::vector<Method> out;
  for (const Json& method : trainer::testing::every_method()) {
    out.push_back({method["name"], {{"synchroniser", method}, {"pruning", {{"ratio", 0.5}}}}});
  }
  return out;
}

const auto name_of_method = [](const auto& test) { return test.param.name; };

INSTANTIATE_TEST_SUITE_P(All, EveryMethod, ::testing::ValuesIn(registered_methods()), name_of_method);

INSTANTIATE_TEST_SUITE_P(
    Variants, EveryMethod,
    ::testing::Values(
        Method{
            "pactrain_ternary",
            {{"synchroniser", {{"name", "pactrain"}, {"values", "ternary"}}}, {"pruning", {{"ratio", 0.5}}}}},
        Method{"pactrain_feedback",
               {{"synchroniser", {{"name", "pactrain"}, {"values", "ternary"}, {"error_feedback", true}}},
                {"pruning", {{"ratio", 0.5}}}}},
        // Its workers' weights differ while gradients are computed, and at no other time.
        Method{"gmc_plus", {{"synchroniser", {{"name", "gmc"}, {"ratio", 0.2}, {"detached", 0.5}}}}},
        Method{"gmc_plus_random_block",
               {{"synchroniser",
                 {{"name", "gmc"}, {"ratio", 0.2}, {"sparsifier", "random_block"}, {"detached", 0.5}}},
                {"pruning", {{"ratio", 0.5}}}}},
        Method{"pactrain_observed",
               {{"synchroniser", {{"name", "pactrain"}, {"source", "observed"}, {"stable_iterations", 3}}},
                {"pruning", {{"criterion", "random"}, {"ratio", 0.5}}}}},
        Method{"pactrain_grasp",
               {{"synchroniser", {{"name", "pactrain"}}},
                {"pruning", {{"criterion", "grasp"}, {"ratio", 0.5}}}}},
        // A resumed run must skip the filters of its checkpoint's mask, not those of its first step's.
        Method{"pactrain_filters",
               {{"synchroniser", {{"name", "pactrain"}}},
                {"pruning",
                 {{"criterion", "filters"},
                  {"ratio", 0.7},
                  {"at_iteration", 2},
                  {"ramp_iterations", 10},
                  {"ramp_steps", 2},
                  {"update_mask_every_iterations", 1}}}}}),
    name_of_method);

TEST(Checkpoint, HasTheStateOfDropout) {
  Json changes = base_config(2);
  changes["model"] = {{"name", "vit_tiny"}, {"width", 8}, {"depth", 1}, {"heads", 2}, {"dropout", 0.5}};
  const TrainingConfig config = parse_training_config(changes, {"test", ""});
  const TemporaryFolder folder;
  const CheckpointOptions checkpoints{.directory = folder.path(), .every_iterations = 7};
  const Result whole = train(config, checkpoints);
  const Result resumed = train(config, checkpoints);
  EXPECT_EQ(resumed.iterations.front()["iteration"], 15);
  EXPECT_EQ(resumed.summary["parameters_hash"], whole.summary["parameters_hash"]);
}

}  // namespace
}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
#include "harness/run/set_up_cost.hh"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

// 30 iterations of pre-training with batches of 128, and a model of which half is pruned.
Json training_config() {
  return {{"weights", {{"file", nullptr}}},
          {"pretraining", {{"iterations", 30}, {"batch_size", 128}}},
          {"training", {{"batch_size_per_worker", 32}}},
          {"pruning", {{"ratio", 0.5}}}};
}

ComputeProfile profile() {
  ComputeProfile out;
  out.configuration = {{"training", {{"batch_size_per_worker", 32}}}};
  out.device = Json::object();
  out.elapsed = {.load_s = 0.001, .compute_s = 0.009, .finish_s = 0.002};
  return out;
}

TEST(SetUpCost, IsWhatTheMachineNeeded) {
  const record::SetUp cost = set_up_cost(training_config(), 4.5, {}, 0.25);
  EXPECT_EQ(cost, (record::SetUp{.pretraining_s = 4.5, .pretraining_from = "measured", .pruning_s = 0.25}));
}

TEST(SetUpCost, IsUnknownUnlessMeasured) {
  EXPECT_EQ(set_up_cost(training_config(), {}, {}, {}), record::SetUp());
}

TEST(SetUpCost, IsZeroOnlyForWhatIsNotDone) {
  Json config = training_config();
  config["pretraining"]["iterations"] = 0;
  config["pruning"]["ratio"] = 0;
  const record::SetUp cost = set_up_cost(config, {}, {}, {});
  EXPECT_EQ(cost, (record::SetUp{.pretraining_s = 0, .pruning_s = 0}));
}

TEST(SetUpCost, OfWeightsFromAFileIsUnknown) {
  Json config = training_config();
  config["weights"]["file"] = "/some/weights.pt";
  EXPECT_EQ(set_up_cost(config, 4.5, {}, 0.25), (record::SetUp{.pruning_s = 0.25}));
  config["pretraining"]["iterations"] = 0;
  EXPECT_EQ(set_up_cost(config, 4.5, {}, 0.25), (record::SetUp{.pruning_s = 0.25}));
}

TEST(SetUpCost, OfAnotherDeviceFollowsItsProfile) {
  const record::SetUp cost = set_up_cost(training_config(), 4.5, profile(), 0.25);
  ASSERT_TRUE(cost.pretraining_s);
  EXPECT_DOUBLE_EQ(*cost.pretraining_s, 30 * (4 * 0.010 + 0.002));
  EXPECT_EQ(cost.pretraining_from, "profile");
}

TEST(SetUpCost, ScalesFromTheBatchSizeOfAnEstimate) {
  ComputeProfile estimate = profile();
  estimate.configuration["training"]["batch_size_per_worker"] = 1;
  estimate.device["batch_size_per_worker"] = 64;
  EXPECT_DOUBLE_EQ(pretraining_s_on(estimate, training_config()), 30 * (2 * 0.010 + 0.002));
}

TEST(SetUpCost, CountsTheCpuTimeOfWorkersThatSharedCores) {
  ComputeProfile shared = profile();
  shared.cpu = ComputeTimes{.load_s = 0, .compute_s = 0.003, .finish_s = 0.001};
  EXPECT_DOUBLE_EQ(pretraining_s_on(shared, training_config()), 30 * (4 * 0.003 + 0.001));
}

}  // namespace
}  // namespace thinpipe

// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/resource_estimate.hh"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/protocol/compute_profile.hh"
#include "common/support/tests/temporary_folder.hh"
#include "harness/plan/compute_costs.hh"
#include "harness/plan/tests/planning.hh"

namespace thinpipe {
namespace {

using testing::HasSubstr;

const Json one_bucket = {{"sent_bytes_per_iteration", 1e6}, {"bucket_bytes", {100}}};

TEST(ResourceEstimate, WorkersShareTheCores) {
  const ComputeCost cost{.compute_s = 0.01, .memory_bytes = 1e8};
  const ResourceEstimate shared =
      estimate_resources(one_bucket, 8, cost, 0.08, {.cores = 2, .free_memory_bytes = 1e9});
  EXPECT_DOUBLE_EQ(shared.iteration_s, 8 * 0.01 / 2 + 0.08);
  EXPECT_DOUBLE_EQ(shared.network_cores, 8e6 * core_s_per_byte / shared.iteration_s);
  EXPECT_DOUBLE_EQ(shared.memory_bytes, 8e8);
  const ResourceEstimate alone =
      estimate_resources(one_bucket, 8, cost, 0.08, {.cores = 64, .free_memory_bytes = 1e9});
  EXPECT_DOUBLE_EQ(alone.iteration_s, 0.09);
}

TEST(ResourceEstimate, WhereTheWireIsFastTheCoresWorkDecides) {
  const ComputeCost cost{.compute_s = 0.01, .memory_bytes = 1e8};
  const Json many_bytes = {{"sent_bytes_per_iteration", 1e7}, {"bucket_bytes", {100}}};
  const ResourceEstimate resources =
      estimate_resources(many_bytes, 8, cost, 0.001, {.cores = 2, .free_memory_bytes = 1e9});
  EXPECT_DOUBLE_EQ(resources.iteration_s, (8 * 0.01 + 8e7 * core_s_per_byte) / 2);
}

TEST(ResourceEstimate, SaysWhatTheMachineLacks) {
  const Machine machine{.cores = 4, .free_memory_bytes = 1e9};
  EXPECT_FALSE(shortfall({.network_cores = 4.1, .memory_bytes = 9e8}, 8, machine));
  EXPECT_THAT(shortfall({.network_cores = 1, .memory_bytes = 2e9}, 8, machine).value(),
              testing::AllOf(HasSubstr("needs 2.00 GB of memory"), HasSubstr("but only 1.00 GB is free")));
  EXPECT_THAT(shortfall({.network_cores = 4.5, .memory_bytes = 1}, 8, machine).value(),
              HasSubstr("needs 4.5 cores for the network alone, but there are 4"));
}

TEST(ResourceEstimate, RunsBesideOthersNeedACoreForEachWorker) {
  const Machine machine{.cores = 8, .free_memory_bytes = 1e9};
  const ResourceEstimate resources{.network_cores = 1.5, .memory_bytes = 4e8};
  EXPECT_FALSE(shortfall(resources, 2, machine, 2));
  EXPECT_THAT(shortfall(resources, 3, machine, 2).value(), HasSubstr("needs 9.0 cores, but there are 8"));
  EXPECT_THAT(shortfall(resources, 1, machine, 3).value(), HasSubstr("memory"));
}

class ReplayEstimate : public ::testing::Test {
 protected:
  ReplayEstimate() {
    const ComputeTimes times{
        .load_s = 0.01, .ready_s = {0.1}, .compute_s = 0.2, .finish_s = 0.03, .encode_s = 7};
    std::ofstream(profile_) << to_json(
        ComputeProfile{.device = Json::object(), .configuration = Json::object(), .elapsed = times});
  }

  thinpipe::Run planned(const std::string& mode, const std::string& profile) const {
    const Json base = {{"mode", mode}, {"topology", "three-switch"}, {"compute_profile", profile}};
    return plan(Json{{"base", base}}.dump()).back();
  }

  static std::optional<ComputeCost> cost_of(const thinpipe::Run& run) {
    return MeasuredCosts(trainer(), [](const std::string& line) { ADD_FAILURE() << line; }).of(run);
  }

  const TemporaryFolder folder_;
  const std::string profile_ = folder_.path() / "profile.json";
};

TEST_F(ReplayEstimate, TakesTheTimesOfTheProfile) {
  const auto run = planned("replay", profile_);
  const auto cost = cost_of(run);
  ASSERT_TRUE(cost);
  EXPECT_DOUBLE_EQ(cost->compute_s, 0.24);
  const ResourceEstimate resources = estimate_resources(run, *cost, {.cores = 1, .free_memory_bytes = 1});
  EXPECT_DOUBLE_EQ(resources.iteration_s,
                   predict_iteration_s(run.training->plan, 0.24, predict_exchange_s(run).value()))
      << "sleeping workers share no cores";
  EXPECT_GT(resources.network_cores, 0);
  EXPECT_EQ(resources.memory_bytes, 0);
}

TEST_F(ReplayEstimate, LeavesOutTheTimesOfADevice) {
  EXPECT_FALSE(cost_of(planned("replay", "a40"))) << "only the run estimates them";
}

TEST_F(ReplayEstimate, OfASimulationWithAProfileTakesNoNetwork) {
  const auto run = planned("simulate", profile_);
  EXPECT_FALSE(runs_workers_here(run));
  EXPECT_EQ(estimate_resources(run, *cost_of(run), {.cores = 1, .free_memory_bytes = 1}).network_cores, 0);
  EXPECT_TRUE(runs_workers_here(planned("simulate", "measured"))) << "they measure their compute";
}

TEST(Machine, HasCoresAndMemory) {
  EXPECT_GE(this_machine().cores, 1);
  EXPECT_GT(this_machine().free_memory_bytes, 1e6);
}

}  // namespace
}  // namespace thinpipe

// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/evaluation.hh"

#include <limits>

#include <gtest/gtest.h>

#include "trainer/training/tests/training.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::base_config;

// Returns the buffers of rank 1 after an evaluation. Before, those with fractions are 10·rank, and those that count are
// 7 on every worker.
std::vector<torch::Tensor> buffers_after(RunningStatistics statistics) {
  Json json = base_config(3);
  json["model"] = {{"name", "resnet"}, {"width", 2}};
  const TrainingConfig config = parse_training_config(json, {"test", ""});
  const auto dataset = make_dataset(config);
  std::vector<torch::Tensor> out;
  run_in_process(3, [&](Collective& network) {
    const auto model = make_model(config, dataset->shape());
    const torch::NoGradGuard no_grad;
    for (torch::Tensor& buffer : model->buffers())
      buffer.fill_(buffer.is_floating_point() ? 10 * network.rank() : 7);
    evaluate(*model, *dataset, network, statistics);
    if (network.rank() != 1) return;
    for (const torch::Tensor& buffer : model->buffers()) out.push_back(buffer.clone());
  });
  return out;
}

void expect_filled(const std::vector<torch::Tensor>& buffers, float fraction) {
  ASSERT_FALSE(buffers.empty());
  for (const torch::Tensor& buffer : buffers) {
    const float expected = buffer.is_floating_point() ? fraction : 7;
    EXPECT_TRUE(buffer.allclose(torch::full_like(buffer, expected))) << buffer;
  }
}

TEST(Evaluation, TakesRank0sRunningStatistics) {
  expect_filled(buffers_after(RunningStatistics::rank_0), 0);
}

TEST(Evaluation, TakesTheMeanOverWorkersOfRunningStatistics) {
  expect_filled(buffers_after(RunningStatistics::mean), 10);
}

// Each sum that is not a number counts as a large one, and those of 100 workers still fit together.
TEST(Evaluation, LossesOfManyDivergedWorkersStayLarge) {
  run_in_process(100, [](Collective& network) {
    EXPECT_GT(mean_over_workers(std::numeric_limits<double>::quiet_NaN(), 1, network), 1e6);
    EXPECT_LT(mean_over_workers(-1e300, 1, network), -1e6);
  });
}

// Workers have statistics of different data, so the evaluations differ, but not the weights.
TEST(Evaluation, TheOptionDecidesTheStatistics) {
  const auto trained = [](const char* statistics) {
    Json json = base_config(3);
    json["model"] = {{"name", "resnet"}, {"width", 2}};
    json["training"]["running_statistics"] = statistics;
    return trainer::testing::train(parse_training_config(json, {"test", ""}));
  };
  const trainer::testing::Result rank_0 = trained("rank_0");
  const trainer::testing::Result mean = trained("mean");
  EXPECT_NE(rank_0.evaluations.back()["test_loss"], mean.evaluations.back()["test_loss"]);
  EXPECT_EQ(rank_0.summary["parameters_hash"], mean.summary["parameters_hash"]);
}

}  // namespace
}  // namespace thinpipe::trainer

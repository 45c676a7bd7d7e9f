// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/evaluation.hh"

#include <cmath>
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

// Each worker sees other batches, but statistics of the same weights.
TEST(Evaluation, EstimatedStatisticsAreThoseOfTheWeights) {
  Json json = base_config(2);
  json["model"] = {{"name", "resnet"}, {"width", 2}};
  const TrainingConfig config = parse_training_config(json, {"test", ""});
  const auto dataset = make_dataset(config);
  const auto statistics_from = [&](double before) {
    const auto model = make_model(config, dataset->shape());
    const torch::NoGradGuard no_grad;
    for (torch::Tensor& buffer : model->buffers()) buffer.fill_(buffer.is_floating_point() ? before : 7);
    estimate_running_statistics(*model, [&](std::int64_t batch) {
      return prepare_batch(*dataset, dataset->train(), 8 * (batch % 4), 8);
    });
    EXPECT_TRUE(model->is_training());
    std::vector<torch::Tensor> out;
    for (const torch::Tensor& buffer : model->buffers()) out.push_back(buffer.clone());
    return out;
  };
  torch::manual_seed(1);
  const std::vector<torch::Tensor> low = statistics_from(0);
  torch::manual_seed(1);
  const std::vector<torch::Tensor> high = statistics_from(10);
  ASSERT_EQ(low.size(), high.size());
  for (std::size_t i = 0; i < low.size(); ++i) {
    EXPECT_TRUE(low[i].to(torch::kFloat).allclose(high[i].to(torch::kFloat), 0, 0.02)) << low[i] << high[i];
    if (low[i].is_floating_point()) continue;
    EXPECT_EQ(low[i].item<std::int64_t>(), 7 + estimation_batches);
  }
}

// Large sums of 100 workers still fit together.
TEST(Evaluation, LossesOfManyDivergedWorkersStayLarge) {
  run_in_process(100, [](Collective& network) {
    EXPECT_GT(mean_over_workers(1e300, 1, network), 1e6);
    EXPECT_LT(mean_over_workers(-1e300, 1, network), -1e6);
  });
}

TEST(Evaluation, ALossThatIsNotFiniteOnOneWorkerIsNotFinite) {
  run_in_process(3, [](Collective& network) {
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      EXPECT_TRUE(std::isnan(mean_over_workers(network.rank() == 1 ? bad : 1.0, 1, network))) << bad;
    }
    EXPECT_EQ(mean_over_workers(network.rank(), 1, network), 1);
  });
}

TEST(Evaluation, TheTestLossOfAModelThatGivesNaNIsNotFinite) {
  const TrainingConfig config = trainer::testing::configured(2);
  const auto dataset = make_dataset(config);
  run_in_process(2, [&](Collective& network) {
    const auto model = make_model(config, dataset->shape());
    const torch::NoGradGuard no_grad;
    model->parameters().back().fill_(std::numeric_limits<float>::quiet_NaN());
    EXPECT_TRUE(std::isnan(evaluate(*model, *dataset, network).loss));
  });
}

// Data of some sizes, without content.
class Sized : public Dataset {
 public:
  Sized(DataShape shape, std::vector<std::int64_t> inputs, std::vector<std::int64_t> labels)
      : shape_(shape),
        examples_{.inputs = torch::zeros({1}, torch::kByte).expand(inputs),
                  .labels = torch::zeros({1}, torch::kLong).expand(labels)} {}
  DataShape shape() const override { return shape_; }
  const Examples& train() const override { return examples_; }
  const Examples& test() const override { return examples_; }
  torch::Tensor prepare(const torch::Tensor& inputs) const override { return inputs; }

 private:
  DataShape shape_;
  Examples examples_;
};

TEST(Evaluation, TakesFewerExamplesAtATimeIfEachIsLarge) {
  const auto batch_of_images = [](std::int64_t side, std::int64_t classes) {
    return evaluation_batch(Sized({.classes = classes}, {1000, 3, side, side}, {1000}));
  };
  EXPECT_EQ(batch_of_images(32, 10), 500);
  EXPECT_EQ(batch_of_images(32, 1000), 500);
  EXPECT_EQ(batch_of_images(224, 1000), 13);
  const auto batch_of_text = [](std::int64_t length, std::int64_t vocabulary) {
    return evaluation_batch(Sized({.classes = vocabulary}, {1000, length}, {1000, length}));
  };
  EXPECT_EQ(batch_of_text(128, 256), 500);
  EXPECT_EQ(batch_of_text(1024, 50257), 1);
  EXPECT_EQ(batch_of_text(4096, 50257), 1) << "at least one";
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

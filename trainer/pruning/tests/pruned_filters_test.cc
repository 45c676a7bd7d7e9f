// SPDX-License-Identifier: Apache-2.0
// Models whose filters are pruned, and what they then leave out.
#include "trainer/pruning/pruned_filters.hh"

#include <gtest/gtest.h>

#include "trainer/models/layers/filtered_layers.hh"
#include "trainer/models/loss.hh"
#include "trainer/pruning/pruning.hh"
#include "trainer/pruning/scoring.hh"
#include "trainer/pruning/tests/two_layers.hh"

namespace thinpipe::trainer {
namespace {

const Place pruned_filters_place{"experiment.json", "/pruning"};
const DataShape pruned_images{.channels = 3, .height = 32, .width = 32, .classes = 10};

std::shared_ptr<Model> make_pruned(const std::string& name, const std::string& criterion, double ratio) {
  torch::manual_seed(6);
  auto model = ModelRegistry::instance().make({{"name", name}}, pruned_filters_place, pruned_images);
  const auto dataset = testing::synthetic();
  const Pruning pruning = make_pruning({{"criterion", criterion}}, pruned_filters_place);
  pruning.criterion->choose(*model, {.dataset = *dataset}, ratio).apply(*model);
  return model;
}

std::vector<FilteredLayer*> layers_of(Model& model) {
  std::vector<FilteredLayer*> layers;
  for (const auto& module : model.modules()) {
    if (auto* const layer = dynamic_cast<FilteredLayer*>(module.get())) layers.push_back(layer);
  }
  return layers;
}

torch::Tensor logits_and_gradients(Model& model, const torch::Tensor& inputs) {
  model.zero_grad();
  const torch::Tensor logits = model.forward(inputs);
  cross_entropy(logits, torch::arange(inputs.size(0))).backward();
  std::vector<torch::Tensor> parts = {logits.detach().flatten()};
  for (const auto& parameter : model.named_parameters()) {
    // Gradients of pruned weights are not exchanged.
    const torch::Tensor gradient = parameter.value().grad();
    parts.push_back((parameter.value().dim() > 1 ? gradient * parameter.value().ne(0) : gradient).flatten());
  }
  return torch::cat(parts);
}

class PrunedModel : public ::testing::TestWithParam<const char*> {};

TEST_P(PrunedModel, ComputesWhatItWouldWithAllFilters) {
  const auto model = make_pruned(GetParam(), "filters", 0.6);
  model->eval();  // so that normalisation does not amplify roundings
  const torch::Tensor inputs = torch::randn({4, 3, 32, 32});
  const torch::Tensor filtered = logits_and_gradients(*model, inputs);
  std::int64_t skipping = 0;
  for (FilteredLayer* layer : layers_of(*model)) {
    if (layer->computed().defined() && !layer->computed().all().item<bool>()) ++skipping;
    layer->compute_only({});
  }
  EXPECT_GT(skipping, 1);
  const torch::Tensor dense = logits_and_gradients(*model, inputs);
  EXPECT_LT(((filtered - dense).norm() / dense.norm()).item<double>(), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Models, PrunedModel,
                         ::testing::Values("small_cnn", "mlp", "lenet5", "resnet", "resnet20",
                                           "densenet40_k12", "vit_tiny", "alexnet"));

TEST(PrunedFilters, AreThoseOfTheMaskInForce) {
  torch::nn::Sequential model(FilteredLinear(3, 4), FilteredLinear(4, 2));
  Mask mask = Mask::keep_all(*model);
  auto* const first = dynamic_cast<FilteredLayer*>(model[0].get());
  auto* const second = dynamic_cast<FilteredLayer*>(model[1].get());
  mask.layers()[0].keep[1].fill_(false);
  mask.layers()[0].keep[2][0].fill_(false);  // not the whole filter
  mask.apply(*model);
  EXPECT_TRUE(first->computed().equal(torch::tensor({1, 0, 1, 1}).to(torch::kBool)));
  EXPECT_TRUE(second->computed().all().item<bool>());
  mask.layers()[0].keep[1].fill_(true);
  mask.layers()[0].keep[3].fill_(false);
  skip_pruned_filters(mask, *model);
  EXPECT_TRUE(first->computed().equal(torch::tensor({1, 1, 1, 0}).to(torch::kBool)));
}

TEST(PrunedFilters, AreComputedWhileScoresAreMadeSoThatTheyMayReturn) {
  const auto model = make_pruned("small_cnn", "filters", 0.5);
  const torch::Tensor inputs = torch::randn({4, 3, 32, 32});
  const torch::Tensor before = layers_of(*model)[0]->computed().clone();
  ASSERT_FALSE(before.all().item<bool>());
  {
    const Scoring scoring(*model);
    const torch::Tensor loss = cross_entropy(model->forward(inputs), torch::arange(4));
    const torch::Tensor gradient = torch::autograd::grad({loss}, {scoring.weights()[0]})[0];
    EXPECT_GT(gradient.index({before.logical_not()}).abs().sum().item<float>(), 0);
  }
  EXPECT_TRUE(layers_of(*model)[0]->computed().equal(before));
}

}  // namespace
}  // namespace thinpipe::trainer

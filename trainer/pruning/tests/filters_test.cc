// SPDX-License-Identifier: Apache-2.0
// The criterion that removes whole filters.
#include <algorithm>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/models/layers/filtered_layers.hh"
#include "trainer/pruning/pruning.hh"
#include "trainer/pruning/tests/two_layers.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const Place filters_place{"experiment.json", "/pruning"};

// A convolution of `channels` filters with 9 weights, a linear layer with rows of 4 weights, and a head.
class FilterNet : public Model {
 public:
  // The filters' weights are all equal to these numbers.
  FilterNet(const std::vector<float>& conv, const std::vector<float>& linear) {
    fill(register_module("conv", FilteredConv2d(torch::nn::Conv2dOptions(1, std::ssize(conv), 3)))->weight,
         conv);
    fill(register_module("linear", FilteredLinear(4, std::ssize(linear)))->weight, linear);
    fill(register_module("head", FilteredLinear(4, 2))->weight, {0.001F, 0.001F});
  }

  torch::Tensor forward(const torch::Tensor& images) override { return images; }
  std::string head() const override { return "head"; }

 private:
  static void fill(torch::Tensor weight, const std::vector<float>& rows) {
    const torch::NoGradGuard no_grad;
    weight.copy_(torch::tensor(rows).view({-1, 1}).expand({-1, weight[0].numel()}).view_as(weight));
  }
};

Mask prune_filters(Model& model, double ratio, const Mask* in_force = nullptr,
                   const std::string& criterion = "filters") {
  const auto dataset = testing::synthetic();
  return make_pruning({{"criterion", criterion}}, filters_place)
      .criterion->choose(model, {.dataset = *dataset, .in_force = in_force}, ratio);
}

// Returns 1 for every kept and 0 for every removed filter, with a space between layers; x if a filter is
// removed in part.
std::string rows_of(const Mask& mask) {
  std::string out;
  for (const Mask::Layer& layer : mask.layers()) {
    if (!out.empty()) out += ' ';
    for (std::int64_t row = 0; row < layer.keep.size(0); ++row) {
      const torch::Tensor keep = layer.keep[row];
      out += keep.all().item<bool>() ? '1' : keep.any().item<bool>() ? 'x' : '0';
    }
  }
  return out;
}

// Weights: 4 * 9 + 4 * 4 + 8 = 60.
TEST(Filters, RemovesFiltersOfSmallestNormRelativeToTheirLayer) {
  // By absolute norm, all filters of the linear layer would go first.
  FilterNet model({10, 40, 20, 30}, {0.3F, 0.1F, 0.5F, 0.5F});
  EXPECT_EQ(rows_of(prune_filters(model, 0)), "1111 1111 11");
  EXPECT_EQ(rows_of(prune_filters(model, 4.0 / 60)), "1111 1011 11");
  EXPECT_EQ(rows_of(prune_filters(model, 13.0 / 60)), "0111 1011 11");
  EXPECT_EQ(rows_of(prune_filters(model, 22.0 / 60)), "0101 1011 11");
}

TEST(Filters, StopsBeforeTheFilterThatWouldExceedTheRatio) {
  FilterNet model({10, 40, 20, 30}, {0.3F, 0.1F, 0.5F, 0.5F});
  EXPECT_EQ(rows_of(prune_filters(model, 3.9 / 60)), "1111 1111 11");
  EXPECT_EQ(rows_of(prune_filters(model, 12.9 / 60)), "1111 1011 11")
      << "no later, smaller filter takes its place";
  torch::manual_seed(3);
  std::vector<float> conv(40);
  std::vector<float> linear(90);
  for (float& weight : conv) weight = torch::rand({}).item<float>() + 0.1F;
  for (float& weight : linear) weight = torch::rand({}).item<float>() + 0.1F;
  FilterNet large(conv, linear);
  for (const double ratio : {0.1, 0.33, 0.5, 0.8, 0.9}) {
    const Mask mask = prune_filters(large, ratio);
    const double removed = static_cast<double>(mask.weights() - mask.kept());
    EXPECT_LE(removed, ratio * static_cast<double>(mask.weights())) << ratio;
    EXPECT_GT(removed, ratio * static_cast<double>(mask.weights()) - 9) << ratio;
    EXPECT_EQ(rows_of(mask).find('x'), std::string::npos);
  }
}

TEST(Filters, LeavesTheHeadWhole) {
  FilterNet model({1, 2, 3, 4}, {1, 2, 3, 4});
  for (const double ratio : {0.5, 0.99})
    EXPECT_TRUE(prune_filters(model, ratio).layers()[2].keep.all().item<bool>());
}

TEST(Filters, KeepsAQuarterOfEveryLayersShare) {
  // Relative to their rms, 15 filters of the linear layer are smaller than all of the convolution's.
  std::vector<float> linear(16, 1);
  linear[7] = 1000;
  FilterNet model({5, 5, 5, 5, 5, 5, 5, 5}, linear);
  const Mask half = prune_filters(model, 0.5);  // of 144: 72 go, of the linear layer at most 14 filters of 4
  EXPECT_EQ(rows_of(half), "01111111 0000000100000001 11");
  const Mask most = prune_filters(model, 0.99);
  EXPECT_EQ(rows_of(most), "00000001 0000000100000000 11");
}

TEST(Filters, OfEqualsTheLowestIndexGoesFirst) {
  FilterNet model({2, 2, 2, 2}, {3, 3, 3, 3});
  EXPECT_EQ(rows_of(prune_filters(model, 0.3)), "0011 1111 11");
}

TEST(Filters, OfEqualsThosePrunedAlreadyGoFirst) {
  FilterNet model({0, 1, 0, 1}, {1, 1, 1, 1});
  const Mask in_force(
      {{"conv.weight", torch::tensor({1, 1, 0, 1}).to(torch::kBool).view({4, 1, 1, 1}).repeat({1, 1, 3, 3})},
       {"linear.weight", torch::ones({4, 4}, torch::kBool)},
       {"head.weight", torch::ones({2, 4}, torch::kBool)}});
  EXPECT_EQ(rows_of(prune_filters(model, 0.15)), "0111 1111 11");
  EXPECT_EQ(rows_of(prune_filters(model, 0.15, &in_force)), "1101 1111 11");
}

TEST(Filters, ChoosesTheSameAgainAndOnlyAddsAtAHigherRatio) {
  torch::manual_seed(4);
  std::vector<float> conv(32);
  std::vector<float> linear(64);
  for (float& weight : conv) weight = torch::randn({}).item<float>();
  for (float& weight : linear) weight = torch::randn({}).item<float>();
  FilterNet model(conv, linear);
  std::string before(96 + 4, '1');
  std::unique_ptr<Mask> in_force;
  for (const double ratio : {0.2, 0.5, 0.8}) {
    const Mask mask = prune_filters(model, ratio, in_force.get());
    EXPECT_EQ(mask.hash(), prune_filters(model, ratio, in_force.get()).hash());
    const std::string kept = rows_of(mask);
    for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_FALSE(before[i] == '0' && kept[i] == '1') << ratio;
    EXPECT_NE(kept, before);
    mask.apply(model);
    before = kept;
    in_force = std::make_unique<Mask>(mask);
  }
}

TEST(Filters, LeavesTheModelAsItWas) {
  FilterNet model({1, 2, 3, 4}, {1, 2, 3, 4});
  const torch::Tensor before = model.parameters()[0].detach().clone();
  prune_filters(model, 0.5);
  EXPECT_TRUE(model.parameters()[0].equal(before));
  EXPECT_TRUE(model.parameters()[0].requires_grad());
}

TEST(Filters, RefusesWeightsThatAreNotNumbers) {
  FilterNet model({1, 2, 3, 4}, {1, 2, std::numeric_limits<float>::quiet_NaN(), 4});
  EXPECT_THAT([&] { prune_filters(model, 0.5); },
              ThrowsMessage<Error>(HasSubstr("importance of a filter of linear.weight is NaN or infinite")));
}

// Returns the weights of which the criterion removes some filter.
std::vector<std::string> pruned_in(const Json& model, const DataShape& data) {
  torch::manual_seed(5);
  const auto made = ModelRegistry::instance().make(model, filters_place, data);
  const Mask mask = prune_filters(*made, 0.9);
  EXPECT_EQ(rows_of(mask).find('x'), std::string::npos);
  std::vector<std::string> names;
  for (const Mask::Layer& layer : mask.layers()) {
    if (layer.kept() < layer.weights()) names.push_back(layer.name);
  }
  return names;
}

TEST(Filters, LeavesAttentionHeadsAndRecurrentLayersWhole) {
  const DataShape images{.channels = 3, .height = 8, .width = 8, .classes = 10};
  const DataShape text{.classes = 11, .sequence_length = 8};
  using ::testing::ElementsAre;
  EXPECT_THAT(pruned_in({{"name", "small_cnn"}}, images),
              ElementsAre("conv1.weight", "conv2.weight", "fc1.weight"));
  EXPECT_THAT(pruned_in({{"name", "vit_tiny"}, {"depth", 1}}, images),
              ElementsAre("encoder.layers.encoder_layer_0.mlp.0.weight",
                          "encoder.layers.encoder_layer_0.mlp.3.weight"));
  EXPECT_THAT(pruned_in({{"name", "gpt_tiny"}, {"depth", 1}}, text),
              ElementsAre("transformer.h.0.mlp.c_fc.weight", "transformer.h.0.mlp.c_proj.weight"));
  EXPECT_THAT(
      [&] {
        pruned_in({{"name", "char_lstm"}}, text);
      },
      ThrowsMessage<Error>(HasSubstr("finds no layer in this model")));
}

}  // namespace
}  // namespace thinpipe::trainer

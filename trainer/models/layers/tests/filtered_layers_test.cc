// SPDX-License-Identifier: Apache-2.0
#include "trainer/models/layers/filtered_layers.hh"

#include <gtest/gtest.h>

#include "trainer/models/tests/making.hh"

namespace thinpipe::trainer {
namespace {

torch::Tensor bits(const std::vector<std::int64_t>& values) {
  return torch::tensor(values).to(torch::kBool);
}

void zero_rows(torch::nn::Module& layer, const torch::Tensor& kept) {
  const torch::NoGradGuard no_grad;
  layer.named_parameters()["weight"].index_put_({kept.logical_not()}, 0);
}

struct Outcome {
  torch::Tensor output;
  torch::Tensor input_gradient;
  std::vector<torch::Tensor> gradients = {};  // by parameter
};

// The gradients of a loss that weighs every output differently.
Outcome run(auto& layer, const torch::Tensor& inputs) {
  layer->zero_grad();
  const torch::Tensor x = inputs.clone().requires_grad_();
  const torch::Tensor output = layer(x);
  (output * torch::linspace(-1, 2, output.numel()).view_as(output)).sum().backward();
  Outcome out{.output = output.detach(), .input_gradient = x.grad()};
  for (const torch::Tensor& parameter : layer->parameters())
    out.gradients.push_back(parameter.grad().clone());
  return out;
}

void expect_close(const torch::Tensor& a, const torch::Tensor& b) {
  EXPECT_TRUE(torch::allclose(a, b, 1e-4, 1e-4)) << (a - b).abs().max().item<float>();
}

// Expects what a layer with zero rows computes in full, and gradients of zero for these rows.
void expect_dense_results(auto layer, const torch::Tensor& inputs, const torch::Tensor& kept) {
  zero_rows(*layer, kept);
  const Outcome dense = run(layer, inputs);
  layer->compute_only(kept);
  const Outcome filtered = run(layer, inputs);
  expect_close(filtered.output, dense.output);
  expect_close(filtered.input_gradient, dense.input_gradient);
  const torch::Tensor weight_gradient = filtered.gradients[0];
  expect_close(weight_gradient.index({kept}), dense.gradients[0].index({kept}));
  EXPECT_TRUE(weight_gradient.index({kept.logical_not()}).eq(0).all().item<bool>());
  EXPECT_FALSE(dense.gradients[0].index({kept.logical_not()}).eq(0).all().item<bool>())
      << "this input cannot tell whether filters are skipped";
  if (dense.gradients.size() > 1) expect_close(filtered.gradients[1], dense.gradients[1]);
}

TEST(FilteredConv2d, ComputesWhatZeroRowsWouldGive) {
  torch::manual_seed(1);
  const torch::Tensor inputs = torch::randn({3, 4, 9, 7});
  const torch::Tensor kept = bits({0, 1, 1, 0, 0, 1});
  for (const bool bias : {true, false}) {
    for (const std::int64_t stride : {1, 2}) {
      const auto options = torch::nn::Conv2dOptions(4, 6, 3).stride(stride).padding(1).bias(bias);
      expect_dense_results(FilteredConv2d(options), inputs, kept);
    }
  }
  expect_dense_results(FilteredConv2d(torch::nn::Conv2dOptions(4, 6, 3).dilation(2)), inputs, kept);
}

TEST(FilteredLinear, ComputesWhatZeroRowsWouldGive) {
  torch::manual_seed(2);
  const torch::Tensor kept = bits({1, 0, 0, 1, 0});
  expect_dense_results(FilteredLinear(8, 5), torch::randn({3, 8}), kept);
  expect_dense_results(FilteredLinear(8, 5), torch::randn({2, 3, 8}), kept);
}

TEST(FilteredConv2d, HasTheBitsAndNamesOfLibTorchsUnlessFiltersAreSkipped) {
  const auto options = torch::nn::Conv2dOptions(3, 16, 3).padding(1);
  torch::manual_seed(3);
  torch::nn::Conv2d plain(options);
  torch::manual_seed(3);
  FilteredConv2d filtered(options);
  const torch::Tensor inputs = torch::randn({2, 3, 8, 8});
  EXPECT_TRUE(filtered(inputs).equal(plain(inputs)));
  EXPECT_EQ(describe(filtered->named_parameters()), describe(plain->named_parameters()));
  EXPECT_TRUE(filtered->buffers().empty());
  EXPECT_NE(filtered->as<torch::nn::Conv2d>(), nullptr);

  filtered->compute_only(torch::ones({16}, torch::kBool));
  EXPECT_TRUE(filtered(inputs).equal(plain(inputs)));
}

TEST(FilteredLinear, ComputesAllFiltersIfFewAreLeftOut) {
  FilteredLinear layer(4, 16);
  const torch::Tensor inputs = torch::randn({2, 4});
  torch::Tensor kept = torch::ones({16}, torch::kBool);
  kept[5] = false;  // its weights stay, to show whether it is computed
  layer->compute_only(kept);
  EXPECT_FALSE(layer(inputs).select(1, 5).equal(layer->bias[5].expand({2})));
  kept.narrow(0, 9, 3).fill_(false);
  layer->compute_only(kept);
  EXPECT_TRUE(layer(inputs).select(1, 5).equal(layer->bias[5].expand({2})));
}

TEST(FilteredLinear, FiltersMayReturn) {
  torch::manual_seed(4);
  FilteredLinear layer(4, 6);
  const torch::Tensor inputs = torch::randn({3, 4});
  const torch::Tensor kept = bits({1, 0, 0, 1, 1, 0});
  const Outcome before = run(layer, inputs);
  layer->compute_only(kept);
  EXPECT_FALSE(run(layer, inputs).output.equal(before.output));
  EXPECT_TRUE(layer->computed().equal(kept));
  layer->compute_only({});
  EXPECT_TRUE(run(layer, inputs).output.equal(before.output));
  EXPECT_FALSE(layer->computed().defined());
}

TEST(FilteredConv2d, ComputesAllFiltersIfNoneIsKept) {
  FilteredConv2d layer(torch::nn::Conv2dOptions(2, 3, 1));
  zero_rows(*layer, bits({0, 0, 0}));
  layer->compute_only(bits({0, 0, 0}));
  EXPECT_TRUE(layer(torch::randn({2, 2, 4, 4})).equal(layer->bias.view({1, 3, 1, 1}).expand({2, 3, 4, 4})));
}

TEST(FilteredConv2d, CanBeDifferentiatedTwice) {
  torch::manual_seed(5);
  FilteredConv2d layer(torch::nn::Conv2dOptions(2, 4, 3));
  layer->compute_only(bits({1, 0, 1, 0}));
  const torch::Tensor loss = layer(torch::randn({2, 2, 5, 5})).pow(3).sum();
  const auto gradient = torch::autograd::grad({loss}, layer->parameters(), {}, true, true);
  const auto second = torch::autograd::grad({gradient[0].square().sum()}, {layer->weight});
  EXPECT_TRUE(second[0][0].abs().sum().item<float>() > 0);
  EXPECT_TRUE(second[0][1].eq(0).all().item<bool>());
}

TEST(FilteredConv2d, RefusesGroupsAndOtherPadding) {
  EXPECT_THROW(FilteredConv2d(torch::nn::Conv2dOptions(4, 4, 3).groups(2)), c10::Error);
  EXPECT_THROW(FilteredConv2d(torch::nn::Conv2dOptions(4, 4, 3).padding_mode(torch::kCircular)), c10::Error);
}

}  // namespace
}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
#include "trainer/pruning/mask.hh"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;

// Prunable: first.weight [2, 3], second.weight [2, 2, 1, 1].
struct Net : torch::nn::Module {
  torch::nn::Linear first = register_module("first", torch::nn::Linear(3, 2));
  torch::nn::BatchNorm1d norm = register_module("norm", torch::nn::BatchNorm1d(2));
  torch::nn::Embedding embedding = register_module("embedding", torch::nn::Embedding(4, 2));
  torch::nn::Conv2d second = register_module("second", torch::nn::Conv2d(torch::nn::Conv2dOptions(2, 2, 1)));
};

torch::Tensor bits(std::vector<std::int64_t> values, at::IntArrayRef shape) {
  return torch::tensor(values).to(torch::kBool).view(shape);
}

Mask example_mask() {
  return Mask({{"first.weight", bits({1, 0, 0, 1, 1, 0}, {2, 3})},
               {"second.weight", bits({0, 1, 1, 0}, {2, 2, 1, 1})}});
}

torch::Tensor bytes(const std::vector<std::int64_t>& values) {
  return torch::tensor(values).to(torch::kUInt8);
}

std::string message(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(PrunableWeights, AreThoseOfConvolutionsAndLinearLayersOnly) {
  const Net net;
  std::vector<std::string> names;
  for (const auto& [name, weight] : prunable_weights(net)) names.push_back(name);
  EXPECT_THAT(names, ::testing::ElementsAre("first.weight", "second.weight"));
}

TEST(PrunableWeights, OfALayerByItselfIsItsWeight) {
  const torch::nn::LinearImpl layer(3, 2);
  const auto weights = prunable_weights(layer);
  ASSERT_EQ(weights.size(), 1U);
  EXPECT_EQ(weights[0].first, "weight");
}

TEST(PrunableWeights, OfAnAttentionAreItsInputAndOutputProjections) {
  torch::nn::Sequential net(torch::nn::MultiheadAttention(4, 2));
  std::vector<std::string> names;
  for (const auto& [name, weight] : prunable_weights(*net)) names.push_back(name);
  EXPECT_THAT(names, ::testing::ElementsAre("0.in_proj_weight", "0.out_proj.weight"));
}

TEST(Mask, CountsAndDensities) {
  const Mask mask = example_mask();
  EXPECT_EQ(mask.weights(), 10);
  EXPECT_EQ(mask.kept(), 5);
  EXPECT_EQ(mask.density(), 0.5);
  EXPECT_EQ(mask.layers()[0].density(), 0.5);
  EXPECT_EQ(Mask::keep_all(Net()).density(), 1);
  EXPECT_EQ(Mask({}).density(), 1);
}

TEST(Mask, PacksLeastSignificantBitFirstAcrossLayers) {
  EXPECT_TRUE(example_mask().packed().equal(bytes({0b10011001, 0b00000001})));
}

TEST(Mask, HashIsXxh3OfThePackedBytes) {
  const std::array<std::uint8_t, 2> packed = {0b10011001, 0b00000001};
  EXPECT_EQ(example_mask().hash(), XXH3_64bits(packed.data(), packed.size()));
  EXPECT_NE(example_mask().hash(), Mask::keep_all(Net()).hash());
}

TEST(Mask, UnpackInvertsPacked) {
  const Net net;
  const Mask mask = Mask::unpack(net, example_mask().packed());
  ASSERT_EQ(mask.layers().size(), 2U);
  for (std::size_t l = 0; l < 2; ++l) {
    EXPECT_EQ(mask.layers()[l].name, example_mask().layers()[l].name);
    EXPECT_TRUE(mask.layers()[l].keep.equal(example_mask().layers()[l].keep));
  }
}

TEST(Mask, PackingSurvivesEverySizeModuloEight) {
  for (std::int64_t size = 1; size <= 17; ++size) {
    const torch::nn::LinearImpl layer(size, 1);
    const Mask mask({{"weight", torch::rand({1, size}) < 0.5}});
    EXPECT_EQ(mask.packed().numel(), (size + 7) / 8);
    EXPECT_TRUE(Mask::unpack(layer, mask.packed()).layers()[0].keep.equal(mask.layers()[0].keep));
  }
}

TEST(Mask, UnpackRefusesWhatIsNotAMaskOfTheModel) {
  const Net net;
  EXPECT_THAT(message([&] { Mask::unpack(net, bytes({1})); }),
              HasSubstr("1 elements of type Byte, but the model's 10 prunable weights need 2 bytes"));
  EXPECT_THAT(message([&] { Mask::unpack(net, torch::zeros({2})); }), HasSubstr("of type Float"));
  EXPECT_THAT(message([&] {
                Mask::unpack(net, bytes({0, 0b100}));
              }),
              HasSubstr("beyond the model's last prunable weight"));
}

TEST(Mask, FlatMaskIsThereForPrunableParametersOnly) {
  const Mask mask = example_mask();
  EXPECT_TRUE(mask.flat_mask_for("first.weight")->equal(bits({1, 0, 0, 1, 1, 0}, {6})));
  EXPECT_EQ(mask.flat_mask_for("first.bias"), std::nullopt);
}

TEST(Mask, ApplySelectsSoThatInfinitiesVanishAndZerosArePositive) {
  Net net;
  const float infinity = std::numeric_limits<float>::infinity();
  const torch::NoGradGuard no_grad;
  net.first->weight.copy_(
      torch::tensor({1.0F, infinity, -2.0F, 3.0F, -infinity, std::nanf("")}).view({2, 3}));
  const torch::Tensor bias = net.first->bias.clone();
  example_mask().apply(net);
  EXPECT_TRUE(net.first->weight.flatten().equal(torch::tensor({1.0F, 0.0F, 0.0F, 3.0F, -infinity, 0.0F})));
  EXPECT_FALSE(net.first->weight.flatten()[2].signbit().item<bool>());
  EXPECT_TRUE(net.first->bias.equal(bias));
}

TEST(Mask, ApplyRefusesAnotherModel) {
  torch::nn::LinearImpl other(3, 2);
  EXPECT_THAT(message([&] { example_mask().apply(other); }),
              HasSubstr("the model has no parameter first.weight with 6 weights"));
}

struct OptimiserCase {
  const char* name;
  std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<torch::Tensor>)> make;
};

std::vector<OptimiserCase> optimiser_cases() {
  const auto sgd = [](double momentum, bool nesterov, double decay) {
    return [=](std::vector<torch::Tensor> parameters) -> std::unique_ptr<torch::optim::Optimizer> {
      return std::make_unique<torch::optim::SGD>(
          std::move(parameters),
          torch::optim::SGDOptions(0.1).momentum(momentum).nesterov(nesterov).weight_decay(decay));
    };
  };
  return {{"sgd", sgd(0, false, 0)},
          {"sgd with momentum", sgd(0.9, false, 0)},
          {"sgd with momentum and weight decay", sgd(0.9, false, 5e-2)},
          {"sgd with Nesterov's momentum and weight decay", sgd(0.9, true, 5e-2)},
          {"adam",
           [](std::vector<torch::Tensor> parameters) -> std::unique_ptr<torch::optim::Optimizer> {
             return std::make_unique<torch::optim::Adam>(std::move(parameters),
                                                         torch::optim::AdamOptions(0.01).weight_decay(0.05));
           }},
          {"adamw", [](std::vector<torch::Tensor> parameters) -> std::unique_ptr<torch::optim::Optimizer> {
             return std::make_unique<torch::optim::AdamW>(std::move(parameters),
                                                          torch::optim::AdamWOptions(0.01));
           }}};
}

TEST(Mask, PrunedWeightsStayExactlyZeroWhenTheirGradientsAreMasked) {
  for (const OptimiserCase& optimiser : optimiser_cases()) {
    SCOPED_TRACE(optimiser.name);
    torch::manual_seed(3);
    torch::nn::Sequential net(torch::nn::Linear(6, 16), torch::nn::ReLU(), torch::nn::Linear(16, 3));
    std::vector<Mask::Layer> layers;
    for (const auto& [name, weight] : prunable_weights(*net)) {
      layers.push_back({name, torch::rand(weight.sizes()) < 0.4});
    }
    const Mask mask(std::move(layers));
    mask.apply(*net);
    const torch::Tensor before = net->parameters()[0].detach().clone();
    const auto optimizer = optimiser.make(net->parameters());
    for (int step = 0; step < 50; ++step) {
      optimizer->zero_grad();
      net->forward(torch::randn({8, 6})).square().sum().backward();
      for (const auto& parameter : net->named_parameters()) {
        const auto keep = mask.flat_mask_for(parameter.key());
        if (keep) parameter.value().grad().view(-1).masked_fill_(keep->logical_not(), 0);
      }
      optimizer->step();
    }
    for (const auto& [name, weight] : prunable_weights(*net)) {
      EXPECT_TRUE(
          (weight.flatten().masked_select(mask.flat_mask_for(name)->logical_not()) == 0).all().item<bool>());
    }
    EXPECT_FALSE(net->parameters()[0].equal(before));
  }
}

}  // namespace
}  // namespace thinpipe::trainer

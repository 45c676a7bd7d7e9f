// SPDX-License-Identifier: Apache-2.0
#include "trainer/pruning/enforcement.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

struct Optimiser {
  std::string name;
  std::function<std::unique_ptr<torch::optim::Optimizer>(const std::vector<torch::Tensor>&)> make;
  bool remembers = true;
};

Optimiser sgd(const std::string& name, double momentum, bool nesterov, double weight_decay) {
  return {name,
          [=](const std::vector<torch::Tensor>& parameters) {
            return std::make_unique<torch::optim::SGD>(
                parameters, torch::optim::SGDOptions(0.05).momentum(momentum).nesterov(nesterov).weight_decay(
                                weight_decay));
          },
          momentum > 0};
}

template <class Algorithm, class Options>
Optimiser adaptive(const std::string& name, double weight_decay, bool amsgrad) {
  return {name, [=](const std::vector<torch::Tensor>& parameters) {
            return std::make_unique<Algorithm>(parameters,
                                               Options(0.01).weight_decay(weight_decay).amsgrad(amsgrad));
          }};
}

std::vector<Optimiser> optimisers() {
  return {sgd("sgd", 0, false, 0),
          sgd("sgd_decay", 0, false, 0.05),
          sgd("momentum", 0.9, false, 0),
          sgd("momentum_decay", 0.9, false, 0.05),
          sgd("nesterov", 0.9, true, 0),
          sgd("nesterov_decay", 0.9, true, 0.05),
          adaptive<torch::optim::Adam, torch::optim::AdamOptions>("adam", 0, false),
          adaptive<torch::optim::Adam, torch::optim::AdamOptions>("adam_decay", 0.05, false),
          adaptive<torch::optim::Adam, torch::optim::AdamOptions>("amsgrad", 0, true),
          adaptive<torch::optim::AdamW, torch::optim::AdamWOptions>("adamw", 0.05, false),
          adaptive<torch::optim::AdamW, torch::optim::AdamWOptions>("adamw_amsgrad", 0.05, true)};
}

class EveryOptimiser : public ::testing::TestWithParam<Optimiser> {
 protected:
  EveryOptimiser() {
    torch::manual_seed(3);
    net_ = torch::nn::Sequential(torch::nn::Linear(6, 16), torch::nn::Tanh(), torch::nn::Linear(16, 3));
    optimiser_ = GetParam().make(net_->parameters());
  }

  Mask random_mask() const {
    std::vector<Mask::Layer> layers;
    for (const auto& [name, weight] : prunable_weights(*net_)) {
      layers.push_back({name, torch::rand(weight.sizes()) < 0.4});
    }
    return Mask(std::move(layers));
  }

  // Takes steps with the pruned weights' gradients at zero, as the exchange leaves them.
  void train(int steps, const Mask* mask) {
    for (int step = 0; step < steps; ++step) {
      optimiser_->zero_grad();
      net_->forward(torch::randn({8, 6})).square().sum().backward();
      for (const auto& parameter : net_->named_parameters()) {
        const auto keep = mask == nullptr ? std::nullopt : mask->flat_mask_for(parameter.key());
        if (keep) parameter.value().grad().view(-1).masked_fill_(keep->logical_not(), 0);
      }
      optimiser_->step();
    }
  }

  torch::nn::Sequential net_{nullptr};
  std::unique_ptr<torch::optim::Optimizer> optimiser_;
};

TEST_P(EveryOptimiser, PT2_KeepsPrunedWeightsAtZeroFromTheFirstStep) {
  const Mask mask = random_mask();
  enforce(mask, *net_, *optimiser_);
  const torch::Tensor before = net_->parameters()[0].detach().clone();
  train(30, &mask);
  EXPECT_NO_THROW(check_pruned_weights_are_zero(mask, *net_));
  EXPECT_FALSE(net_->parameters()[0].equal(before));
}

TEST_P(EveryOptimiser, PT2_KeepsThemAtZeroWhenPrunedWithWarmBuffers) {
  train(10, nullptr);
  const Mask first = random_mask();
  enforce(first, *net_, *optimiser_);
  train(10, &first);
  EXPECT_NO_THROW(check_pruned_weights_are_zero(first, *net_));
  // A second mask: some weights come back as zero, others are pruned.
  const Mask second = random_mask();
  enforce(second, *net_, *optimiser_);
  const torch::Tensor bias = net_->parameters()[1].detach().clone();
  train(10, &second);
  EXPECT_NO_THROW(check_pruned_weights_are_zero(second, *net_));
  EXPECT_THROW(check_pruned_weights_are_zero(first, *net_), Error);
  EXPECT_FALSE(net_->parameters()[1].equal(bias));
}

TEST_P(EveryOptimiser, PT2_WarmBuffersAloneWouldMoveThem) {
  train(10, nullptr);
  const Mask mask = random_mask();
  mask.apply(*net_);
  train(1, &mask);
  if (GetParam().remembers) {
    EXPECT_THROW(check_pruned_weights_are_zero(mask, *net_), Error);
  } else {
    EXPECT_NO_THROW(check_pruned_weights_are_zero(mask, *net_));
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryOptimiser, ::testing::ValuesIn(optimisers()),
                         [](const auto& test) { return test.param.name; });

TEST(Enforcement, LeavesTheMomentumOfKeptWeightsAlone) {
  torch::nn::LinearImpl layer(2, 1);
  torch::optim::SGD optimiser(layer.parameters(), torch::optim::SGDOptions(1).momentum(0.5));
  {
    const torch::NoGradGuard no_grad;
    layer.weight.copy_(torch::tensor({{10.0F, 20.0F}}));
  }
  layer.weight.mutable_grad() = torch::tensor({{1.0F, 2.0F}});
  optimiser.step();  // momentum 1 2, weights 9 18
  enforce(Mask({{"weight", torch::tensor({true, false}).view({1, 2})}}), layer, optimiser);
  layer.weight.mutable_grad() = torch::zeros({1, 2});
  optimiser.step();  // momentum 0.5 0
  EXPECT_TRUE(layer.weight.equal(torch::tensor({{8.5F, 0.0F}})));
}

TEST(Enforcement, RefusesAnOptimiserItDoesNotKnow) {
  torch::nn::LinearImpl layer(2, 1);
  torch::optim::RMSprop optimiser(layer.parameters(), torch::optim::RMSpropOptions(0.1));
  const Mask mask({{"weight", torch::tensor({true, false}).view({1, 2})}});
  EXPECT_NO_THROW(enforce(mask, layer, optimiser)) << "it has no state yet";
  layer.forward(torch::ones({1, 2})).sum().backward();
  optimiser.step();
  EXPECT_THAT([&] { enforce(mask, layer, optimiser); },
              ThrowsMessage<Error>(HasSubstr("this optimiser's state of weight is unknown")));
}

TEST(Enforcement, NamesTheParameterThatHasStrayed) {
  torch::nn::Sequential net(torch::nn::Linear(2, 1), torch::nn::Linear(1, 3));
  const Mask mask({{"0.weight", torch::ones({1, 2}, torch::kBool)},
                   {"1.weight", torch::tensor({true, false, false}).view({3, 1})}});
  mask.apply(*net);
  {
    const torch::NoGradGuard no_grad;
    net->parameters()[2][1] = 1e-30F;
  }
  EXPECT_THAT([&] { check_pruned_weights_are_zero(mask, *net); },
              ThrowsMessage<Error>("1 of the 2 pruned weights of 1.weight are no longer zero"));
  const Mask other({{"2.weight", torch::ones({1, 2}, torch::kBool)}});
  EXPECT_THAT([&] { check_pruned_weights_are_zero(other, *net); },
              ThrowsMessage<Error>(HasSubstr("no parameter 2.weight with 2 weights")));
}

TEST(Enforcement, CountsNanAsStrayed) {
  torch::nn::LinearImpl layer(2, 1);
  const Mask mask({{"weight", torch::tensor({true, false}).view({1, 2})}});
  {
    const torch::NoGradGuard no_grad;
    layer.weight[0][1] = std::nanf("");
  }
  EXPECT_THROW(check_pruned_weights_are_zero(mask, layer), Error);
}

}  // namespace
}  // namespace thinpipe::trainer

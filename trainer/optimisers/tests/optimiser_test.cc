// SPDX-License-Identifier: Apache-2.0
// Compares each optimiser's steps with its equation. Every option differs from its default, so that an option
// that does not reach LibTorch is noticed.
#include "trainer/optimisers/optimiser.hh"

#include <array>
#include <cmath>

#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

namespace asked {
constexpr double learning_rate = 0.1;
constexpr double weight_decay = 0.3;
constexpr double momentum = 0.6;
constexpr double beta1 = 0.7;
constexpr double beta2 = 0.8;
constexpr double epsilon = 0.2;
}  // namespace asked

struct Weight {
  double value = 0;
  double mean = 0;    // of the gradient; SGD's momentum
  double square = 0;  // mean of the squared gradient
};

// Nesterov's variant as in PyTorch: Sutskever et al., On the importance of initialization and momentum in
// deep learning (2013).
template <bool nesterov>
void take_sgd_step(Weight& weight, double gradient, int /*step*/) {
  gradient += asked::weight_decay * weight.value;
  weight.mean = asked::momentum * weight.mean + gradient;
  weight.value -= asked::learning_rate * (nesterov ? gradient + asked::momentum * weight.mean : weight.mean);
}

void move_by_moments(Weight& weight, double gradient, int step) {
  weight.mean = asked::beta1 * weight.mean + (1 - asked::beta1) * gradient;
  weight.square = asked::beta2 * weight.square + (1 - asked::beta2) * gradient * gradient;
  const double mean = weight.mean / (1 - std::pow(asked::beta1, step));
  const double square = weight.square / (1 - std::pow(asked::beta2, step));
  weight.value -= asked::learning_rate * mean / (std::sqrt(square) + asked::epsilon);
}

void take_adam_step(Weight& weight, double gradient, int step) {
  move_by_moments(weight, gradient + asked::weight_decay * weight.value, step);
}

void take_adamw_step(Weight& weight, double gradient, int step) {
  weight.value -= asked::learning_rate * asked::weight_decay * weight.value;
  move_by_moments(weight, gradient, step);
}

struct Equation {
  const char* name;
  Json options;
  void (*take_step)(Weight& weight, double gradient, int step);
};

class OptimiserEquation : public ::testing::TestWithParam<Equation> {};

TEST_P(OptimiserEquation, HoldsWithEveryOption) {
  std::array<Weight, 3> expected = {Weight{0.5}, Weight{-1}, Weight{2}};
  torch::Tensor weights = torch::tensor({0.5F, -1.0F, 2.0F}).requires_grad_();
  Json options = GetParam().options;
  options["learning_rate"] = asked::learning_rate;
  options["weight_decay"] = asked::weight_decay;
  const auto optimiser =
      OptimiserRegistry::instance().make(options, {}, {.all = {weights}, .is_hidden_weight = {false}});
  for (int step = 1; step <= 4; ++step) {
    const std::vector<float> gradient = {0.25F * static_cast<float>(step), -0.5F, step == 2 ? 1.0F : 0.0F};
    weights.mutable_grad() = torch::tensor(gradient);
    optimiser->step();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      GetParam().take_step(expected[i], gradient[i], step);
      EXPECT_NEAR(weights[static_cast<std::int64_t>(i)].item<double>(), expected[i].value, 1e-5) << step;
    }
  }
}

Json adam_of(const char* name) {
  return {{"name", name}, {"beta1", asked::beta1}, {"beta2", asked::beta2}, {"epsilon", asked::epsilon}};
}

INSTANTIATE_TEST_SUITE_P(
    All, OptimiserEquation,
    ::testing::Values(Equation{"sgd", {{"name", "sgd"}, {"momentum", asked::momentum}}, take_sgd_step<false>},
                      Equation{"nesterov",
                               {{"name", "sgd"}, {"momentum", asked::momentum}, {"nesterov", true}},
                               take_sgd_step<true>},
                      Equation{"adam", adam_of("adam"), take_adam_step},
                      Equation{"adamw", adam_of("adamw"), take_adamw_step}),
    [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace thinpipe::trainer

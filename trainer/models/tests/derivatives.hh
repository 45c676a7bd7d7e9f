// SPDX-License-Identifier: Apache-2.0
// Checks of a model's first and second derivatives.
#pragma once

#include <cmath>

#include <gtest/gtest.h>

#include "trainer/base/modules.hh"
#include "trainer/models/loss.hh"
#include "trainer/models/tests/making.hh"

namespace thinpipe::trainer {

// Expects finite float32 logits of the right shape, and a gradient that reaches every parameter.
inline void expect_training(Model& model, const DataShape& data) {
  const torch::Tensor logits = model.forward(random_inputs(5, data));
  EXPECT_EQ(logits.sizes(), data.is_text()
                                ? (std::vector<std::int64_t>{5, data.sequence_length, data.classes})
                                : (std::vector<std::int64_t>{5, data.classes}));
  EXPECT_EQ(logits.scalar_type(), torch::kFloat32);
  EXPECT_TRUE(logits.isfinite().all().item<bool>());
  cross_entropy(logits, random_labels(5, data)).backward();
  for (const auto& parameter : model.named_parameters()) {
    ASSERT_TRUE(parameter.value().grad().defined()) << parameter.key();
    const auto size = parameter.value().grad().abs().sum().item<float>();
    EXPECT_TRUE(std::isfinite(size) && size > 0) << parameter.key() << ": " << size;
  }
}

// Expects that the derivative of the gradient's square exists, is finite and is not all zero.
inline void expect_second_derivative(Model& model, const DataShape& data) {
  const torch::Tensor loss = cross_entropy(model.forward(random_inputs(3, data)), random_labels(3, data));
  torch::Tensor squares = torch::zeros({});
  for (const torch::Tensor& gradient : torch::autograd::grad({loss}, model.parameters(), {}, true, true)) {
    squares = squares + gradient.square().sum();
  }
  double size = 0;
  for (const torch::Tensor& second :
       torch::autograd::grad({squares}, model.parameters(), {}, false, false, true)) {
    if (second.defined()) size += second.square().sum().item<double>();
  }
  EXPECT_TRUE(std::isfinite(size) && size > 0) << size;
}

// Moves the parameters along one random direction. Returns the relative distance between the gradient's
// change predicted by the second derivative and its actual change. In float64.
inline double second_derivative_error(Model& model, const DataShape& data) {
  model.to(torch::kFloat64);
  perturb(model);
  torch::Tensor inputs = random_inputs(3, data);
  if (!data.is_text()) inputs = inputs.to(torch::kFloat64);
  const torch::Tensor labels = random_labels(3, data);
  std::vector<torch::Tensor> parameters = model.parameters();
  std::vector<torch::Tensor> direction;
  for (const torch::Tensor& parameter : parameters) direction.push_back(torch::randn_like(parameter));

  const auto gradient = [&](bool twice) {
    const torch::Tensor loss = cross_entropy(model.forward(inputs), labels);
    std::vector<torch::Tensor> parts;
    for (const torch::Tensor& part : torch::autograd::grad({loss}, parameters, {}, twice, twice)) {
      parts.push_back(part.flatten());
    }
    return torch::cat(parts);
  };
  const auto move = [&](double distance) {
    const torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].add_(direction[i], distance);
  };

  std::vector<torch::Tensor> flat_direction;
  for (const torch::Tensor& part : direction) flat_direction.push_back(part.flatten());
  const torch::Tensor along = gradient(true).dot(torch::cat(flat_direction));
  std::vector<torch::Tensor> said;
  const auto seconds = torch::autograd::grad({along}, parameters, {}, false, false, true);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    said.push_back((seconds[i].defined() ? seconds[i] : torch::zeros_like(parameters[i])).flatten());
  }

  const double step = 1e-8;  // small, so that the step crosses no kink of a ReLU
  move(step);
  const torch::Tensor after = gradient(false);
  move(-2 * step);
  const torch::Tensor before = gradient(false);
  const torch::Tensor change = (after - before) / (2 * step);
  return ((torch::cat(said) - change).norm() / change.norm()).item<double>();
}

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// Muon: the step of a weight matrix is its momentum, made nearly orthogonal. Jordan et al., Muon: An optimizer for
// hidden layers in neural networks (2024). The scale of steps is that of Liu et al., Muon is Scalable for LLM Training
// (2025): steps of a matrix are then as large as AdamW's, so one learning rate suits both.
//   m = μ·m + g;  u = g + μ·m;  W = W − η·(λ·W + 0.2·sqrt(max(rows, columns))·orthogonal(u))
// An entry whose momentum is zero, as that of a pruned weight, stays. A convolution's weight is a matrix with a row per
// filter. Embeddings, the last layer, biases and normalisation layers
// take AdamW's steps.
#include "trainer/optimisers/muon.hh"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "trainer/optimisers/adam_moments.hh"
#include "trainer/optimisers/optimiser.hh"
#include "trainer/optimisers/state.hh"

namespace thinpipe::trainer {
namespace {

struct MuonOptions : AdamMoments {
  double momentum = 0.95;
  double weight_decay = 0.01;

  void visit(auto& field) {
    AdamMoments::visit(field);
    field("momentum", momentum,
          Rule{.effect = "share of the previous step of a matrix that is kept", .at_least = 0, .below = 1});
    field("weight_decay", weight_decay,
          Rule{.effect = "share of each weight subtracted per step, times the learning rate", .at_least = 0});
  }
};

// AdamW serves the other parameters, and keeps the momentum of matrices as their first moment, so that checkpoints,
// pruning and local steps know it.
class Muon : public torch::optim::AdamW {
 public:
  Muon(const OptimisedParameters& parameters, const MuonOptions& options)
      : AdamW(parameters.all, torch::optim::AdamWOptions(options.learning_rate)
                                  .betas({options.beta1, options.beta2})
                                  .eps(options.epsilon)
                                  .weight_decay(options.weight_decay)),
        momentum_(options.momentum) {
    for (std::size_t p = 0; p < parameters.all.size(); ++p) {
      if (parameters.is_hidden_weight[p]) matrices_.push_back(parameters.all[p]);
    }
  }

  torch::Tensor step(LossClosure closure = nullptr) override {
    torch::Tensor loss;
    if (closure) {
      const at::AutoGradMode gradients(true);
      loss = closure();
    }
    const torch::NoGradGuard no_grad;
    std::vector<torch::Tensor> gradients;
    for (const torch::Tensor& matrix : matrices_) {
      gradients.push_back(matrix.grad());
      if (matrix.grad().defined()) step_of(matrix, matrix.grad());
      matrix.mutable_grad().reset();  // AdamW passes over it
    }
    AdamW::step();
    for (std::size_t i = 0; i < matrices_.size(); ++i) matrices_[i].mutable_grad() = gradients[i];
    return loss;
  }

 private:
  void step_of(const torch::Tensor& matrix, const torch::Tensor& gradient) {
    const auto& options = static_cast<const torch::optim::AdamWOptions&>(param_groups().front().options());
    torch::Tensor momentum = momentum_of(matrix);
    momentum.mul_(momentum_).add_(gradient);
    torch::Tensor step = orthogonalised((gradient + momentum_ * momentum).flatten(1)).view_as(matrix);
    // Otherwise pruned weights would move.
    step.masked_fill_(momentum.eq(0), 0);
    const auto longest = static_cast<double>(std::max(matrix.size(0), matrix[0].numel()));
    const torch::Tensor weight = matrix.detach();
    weight.mul_(1 - options.lr() * options.weight_decay());
    weight.add_(step, -options.lr() * 0.2 * std::sqrt(longest));
  }

  torch::Tensor momentum_of(const torch::Tensor& matrix) {
    auto& state = state_of(*this, matrix);
    if (!state) {
      auto fresh = std::make_unique<torch::optim::AdamWParamState>();
      fresh->exp_avg(torch::zeros_like(matrix));
      state = std::move(fresh);
    }
    return static_cast<torch::optim::AdamWParamState&>(*state).exp_avg();
  }

  double momentum_;
  std::vector<torch::Tensor> matrices_;
};

THINPIPE_REGISTER(Optimiser){
    "muon", "Muon: orthogonal steps for the weights of hidden layers, AdamW's for all others",
    describe_options<MuonOptions>(), [](JsonObject& object, const OptimisedParameters& parameters) {
      const auto options = read_options<MuonOptions>(object);
      return std::make_unique<Muon>(parameters, options);
    }};

}  // namespace

torch::Tensor orthogonalised(const torch::Tensor& matrix) {
  // Newton-Schulz iterations with coefficients that bring small singular values up fast.
  constexpr int iterations = 5;
  constexpr std::array coefficients = {3.4445, -4.7750, 2.0315};
  const bool is_tall = matrix.size(0) > matrix.size(1);
  torch::Tensor x = is_tall ? matrix.t() : matrix;
  x = x / (x.norm() + 1e-7);
  for (int i = 0; i < iterations; ++i) {
    const torch::Tensor square = x.mm(x.t());
    const torch::Tensor polynomial = torch::addmm(square, square, square, coefficients[1], coefficients[2]);
    x = torch::addmm(x, polynomial, x, coefficients[0]);
  }
  return is_tall ? x.t() : x;
}

}  // namespace thinpipe::trainer

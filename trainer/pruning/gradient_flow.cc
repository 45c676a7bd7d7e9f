// SPDX-License-Identifier: Apache-2.0
#include "trainer/pruning/gradient_flow.hh"

namespace thinpipe::trainer {
namespace {

std::vector<torch::Tensor> zeros_like(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> zeros;
  for (const torch::Tensor& tensor : tensors) zeros.push_back(torch::zeros_like(tensor));
  return zeros;
}

// Returns the gradients; one is undefined if the value does not depend on its tensor.
std::vector<torch::Tensor> gradients(const torch::Tensor& value, const std::vector<torch::Tensor>& of,
                                     bool differentiable_again) {
  if (!value.requires_grad()) return std::vector<torch::Tensor>(of.size());
  return torch::autograd::grad({value}, of, {}, differentiable_again, differentiable_again, true);
}

void accumulate(std::vector<torch::Tensor>& sums, const std::vector<torch::Tensor>& terms) {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (terms[i].defined()) sums[i].add_(terms[i].detach());
  }
}

torch::Tensor inner_product(const std::vector<torch::Tensor>& fixed,
                            const std::vector<torch::Tensor>& gradient) {
  torch::Tensor sum = torch::zeros({});
  for (std::size_t i = 0; i < fixed.size(); ++i) {
    if (gradient[i].defined()) sum = sum + (fixed[i] * gradient[i]).sum();
  }
  return sum;
}

}  // namespace

GradientFlow gradient_flow(const std::vector<torch::Tensor>& weights, std::int64_t batches,
                           const BatchLoss& loss) {
  const torch::AutoGradMode differentiate(true);
  GradientFlow flow{zeros_like(weights), zeros_like(weights)};
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    accumulate(flow.gradient, gradients(loss(batch), weights, false));
  }
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const torch::Tensor product = inner_product(flow.gradient, gradients(loss(batch), weights, true));
    accumulate(flow.hessian_gradient, gradients(product, weights, false));
  }
  return flow;
}

std::vector<torch::Tensor> removal_scores(const std::vector<torch::Tensor>& weights,
                                          const GradientFlow& flow) {
  std::vector<torch::Tensor> scores;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    scores.push_back(weights[i].detach().mul(flow.hessian_gradient[i]).neg());
  }
  return scores;
}

}  // namespace thinpipe::trainer

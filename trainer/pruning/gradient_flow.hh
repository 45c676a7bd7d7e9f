// What removing a weight does to the norm of the gradient: the scores of GraSP. Wang, Zhang, Grosse: Picking
// Winning Tickets Before Training by Preserving Gradient Flow (ICLR 2020).
#pragma once

#include "trainer/tensors.hh"

namespace thinpipe::trainer {

// The loss of a batch, 0 <= batch < batches: a scalar that depends on the weights through autograd, twice
// differentiable and the same at every call.
using BatchLoss = std::function<torch::Tensor(std::int64_t batch)>;

struct GradientFlow {
  // Per tensor of weights. Sums over the batches, not means.
  std::vector<torch::Tensor> gradient;          // g
  std::vector<torch::Tensor> hessian_gradient;  // H·g
};

// Two passes over the batches: g = Σ_j ∇L_j, then H·g = Σ_j ∇<g, ∇L_j> with g held fixed. Leaves the .grad of
// the weights alone. A tensor that the loss does not depend on has zeros.
GradientFlow gradient_flow(const std::vector<torch::Tensor>& weights, std::int64_t batches,
                           const BatchLoss& loss);

// -w ⊙ (H·g): where it is positive, removing the weight raises the norm of the gradient; where it is most
// negative, removing it takes most of the gradient away.
std::vector<torch::Tensor> removal_scores(const std::vector<torch::Tensor>& weights,
                                          const GradientFlow& flow);

}  // namespace thinpipe::trainer

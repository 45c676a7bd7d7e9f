// SPDX-License-Identifier: Apache-2.0
// The effect of removing a weight on the norm of the gradient: the scores of GraSP.
// Wang, Zhang, Grosse: Picking Winning Tickets Before Training by Preserving Gradient Flow (ICLR 2020).
#pragma once

#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {

// Returns the loss of a batch, 0 <= batch < batches: a scalar that depends on the weights through autograd.
// It must be twice differentiable and the same at every call.
using BatchLoss = std::function<torch::Tensor(std::int64_t batch)>;

struct GradientFlow {
  // One tensor per tensor of weights; sums over the batches, not means.
  std::vector<torch::Tensor> gradient;          // g
  std::vector<torch::Tensor> hessian_gradient;  // H·g
};

// Makes two passes over the batches: g = Σ_j ∇L_j, then H·g = Σ_j ∇<g, ∇L_j> with g held fixed. Leaves the
// weights' .grad unchanged. Zeros for a tensor that the loss does not depend on.
GradientFlow gradient_flow(const std::vector<torch::Tensor>& weights, std::int64_t batches,
                           const BatchLoss& loss);

// Returns -w ⊙ (H·g). If a score is positive, removing the weight raises the gradient's norm; removing the
// weight with the most negative score lowers the norm most.
std::vector<torch::Tensor> removal_scores(const std::vector<torch::Tensor>& weights,
                                          const GradientFlow& flow);

}  // namespace thinpipe::trainer

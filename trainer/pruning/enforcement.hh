// SPDX-License-Identifier: Apache-2.0
// Keeping pruned weights at zero while a model is trained.
#pragma once

#include "trainer/base/modules.hh"
#include "trainer/pruning/mask.hh"

namespace thinpipe::trainer {

// Zeroes the pruned weights and their optimiser state, because old momentum would move them off zero again.
// From then on, zero gradients keep them at zero. Supports SGD, Adam and AdamW; throws Error for another
// optimiser that has state.
void enforce(const Mask& mask, torch::nn::Module& model, torch::optim::Optimizer& optimiser);

// Throws Error naming the first parameter that has a nonzero pruned weight.
void check_pruned_weights_are_zero(const Mask& mask, const torch::nn::Module& model);

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// Optimisers, which turn the mean gradient into new weights. Every worker computes the same weights.
#pragma once

#include "common/support/registry.hh"
#include "trainer/base/modules.hh"

namespace thinpipe::trainer {

struct OptimisedParameters {
  std::vector<torch::Tensor> all;
  // Entry p: whether parameter p is a weight that maps a layer's input to its output, but not the model's last
  // one: the weights that pruning may remove, without the head.
  std::vector<bool> is_hidden_weight;
};

// {"name": "sgd", "learning_rate": 0.05, …}
using OptimiserRegistry = Registry<torch::optim::Optimizer, const OptimisedParameters&>;
using OptimiserRegistration = Registration<torch::optim::Optimizer, const OptimisedParameters&>;

}  // namespace thinpipe::trainer

// Optimisers, which turn the mean gradient into new weights. Every worker computes the same weights.
#pragma once

#include "common/support/registry.hh"
#include "trainer/base/modules.hh"

namespace thinpipe::trainer {

// {"name": "sgd", "learning_rate": 0.05, …}
using OptimiserRegistry = Registry<torch::optim::Optimizer, const std::vector<torch::Tensor>&>;
using OptimiserRegistration = Registration<torch::optim::Optimizer, const std::vector<torch::Tensor>&>;

}  // namespace thinpipe::trainer

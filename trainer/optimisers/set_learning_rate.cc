// SPDX-License-Identifier: Apache-2.0
#include "trainer/optimisers/set_learning_rate.hh"

namespace thinpipe::trainer {

void set_learning_rate(torch::optim::Optimizer& optimiser, double learning_rate) {
  for (torch::optim::OptimizerParamGroup& group : optimiser.param_groups())
    group.options().set_lr(learning_rate);
}

}  // namespace thinpipe::trainer

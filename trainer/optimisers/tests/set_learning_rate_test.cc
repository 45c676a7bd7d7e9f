// SPDX-License-Identifier: Apache-2.0
#include "trainer/optimisers/set_learning_rate.hh"

#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

TEST(LearningRate, IsSetInEveryGroupOfEveryOptimiser) {
  const std::vector<torch::Tensor> parameters = {torch::zeros({2}, torch::requires_grad())};
  torch::optim::SGD sgd(parameters, torch::optim::SGDOptions(1));
  torch::optim::Adam adam(parameters, torch::optim::AdamOptions(1));
  torch::optim::AdamW adamw(parameters, torch::optim::AdamWOptions(1));
  for (torch::optim::Optimizer* optimiser :
       {static_cast<torch::optim::Optimizer*>(&sgd), static_cast<torch::optim::Optimizer*>(&adam),
        static_cast<torch::optim::Optimizer*>(&adamw)}) {
    set_learning_rate(*optimiser, 0.25);
    EXPECT_EQ(optimiser->param_groups().front().options().get_lr(), 0.25);
  }
}

}  // namespace
}  // namespace thinpipe::trainer

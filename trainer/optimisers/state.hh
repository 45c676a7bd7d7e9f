// SPDX-License-Identifier: Apache-2.0
// An optimiser's state of one parameter.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/base/modules.hh"

namespace thinpipe::trainer {

// Returns the optimiser's state of a parameter; nullptr before the first step.
torch::optim::OptimizerParamState* find_state(torch::optim::Optimizer& optimiser,
                                              const torch::Tensor& parameter);

// Removes it, as before the first step.
void forget_state(torch::optim::Optimizer& optimiser, const torch::Tensor& parameter);

// Returns where the optimiser keeps its state of a parameter; null before the first step, and inserted if absent.
std::unique_ptr<torch::optim::OptimizerParamState>& state_of(torch::optim::Optimizer& optimiser,
                                                             const torch::Tensor& parameter);

// Returns every tensor of the state that has an entry per weight; empty before the first step. Supports SGD,
// Adam, AdamW and Muon; throws Error, naming the parameter by `name`, for another optimiser that has state.
std::vector<torch::Tensor> state_tensors(torch::optim::Optimizer& optimiser, const torch::Tensor& parameter,
                                         const std::string& name);

// Returns SGD's momentum, the first moment of Adam and AdamW, or either of Muon; undefined if the optimiser has none.
torch::Tensor momentum_of(torch::optim::Optimizer& optimiser, const torch::Tensor& parameter);

}  // namespace thinpipe::trainer

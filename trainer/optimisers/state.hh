// An optimiser's state of one parameter.
#pragma once

#include <string>
#include <vector>

#include "trainer/base/modules.hh"

namespace thinpipe::trainer {

// Returns every tensor of the state that has an entry per weight; empty before the first step. Supports SGD,
// Adam and AdamW; throws Error, naming the parameter by `name`, for another optimiser that has state.
std::vector<torch::Tensor> state_tensors(torch::optim::Optimizer& optimiser, const torch::Tensor& parameter,
                                         const std::string& name);

// Returns SGD's momentum, or the first moment of Adam and AdamW; undefined if the optimiser has none.
torch::Tensor momentum_of(torch::optim::Optimizer& optimiser, const torch::Tensor& parameter);

}  // namespace thinpipe::trainer

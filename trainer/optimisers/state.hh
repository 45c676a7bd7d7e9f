// What an optimiser remembers of a parameter.
#pragma once

#include <string>
#include <vector>

#include "trainer/modules.hh"

namespace thinpipe::trainer {

// Every tensor of it that has an entry per weight; none before the first step. Knows SGD, Adam and AdamW;
// throws Error, calling the parameter by `name`, for another optimiser that remembers anything.
std::vector<torch::Tensor> remembered(torch::optim::Optimizer& optimiser, const torch::Tensor& parameter,
                                      const std::string& name);

// Of SGD its momentum, of Adam and AdamW the first moment; undefined where it keeps none.
torch::Tensor momentum_of(torch::optim::Optimizer& optimiser, const torch::Tensor& parameter);

}  // namespace thinpipe::trainer

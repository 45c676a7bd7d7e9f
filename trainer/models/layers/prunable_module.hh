// SPDX-License-Identifier: Apache-2.0
// A module of our own that has weights for pruning, unlike LibTorch's layers, whose weights pruning knows.
#pragma once

#include <string>
#include <vector>

#include "trainer/base/modules.hh"

namespace thinpipe::trainer {

class PrunableModule : public torch::nn::Module {
 public:
  // Returns the names of the parameters that pruning may prune.
  virtual std::vector<std::string> prunable_names() const = 0;

  // Returns such a parameter. Pruning criteria may replace it for a while; the forward pass must use what is here.
  virtual torch::Tensor& prunable(const std::string& name) = 0;
};

}  // namespace thinpipe::trainer

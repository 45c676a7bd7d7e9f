// SPDX-License-Identifier: Apache-2.0
// A model's floating-point buffers: mostly the running statistics of its normalisation layers, which each
// forward pass of training changes, whether or not its step is taken. Most models have none.
#pragma once

#include <vector>

#include "trainer/base/modules.hh"

namespace thinpipe::trainer {

class FloatBuffers {
 public:
  // The model must keep its buffers; their values may change.
  explicit FloatBuffers(const torch::nn::Module& model);

  std::vector<torch::Tensor> copy() const;
  // Sets the buffers to the values of a copy.
  void restore(const std::vector<torch::Tensor>& copy) const;

  bool are_finite() const;

 private:
  std::vector<torch::Tensor> buffers_;
};

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// Layers of long short-term memory, with the names, shapes and equations of torch.nn.LSTM. Written with elementary
// operations, because LibTorch's own cannot be differentiated twice on every device.
// Hochreiter, Schmidhuber: Long Short-Term Memory (1997), with forget gates (Gers, Schmidhuber, Cummins, 2000).
#pragma once

#include <map>

#include "trainer/models/layers/dropout.hh"
#include "trainer/models/layers/prunable_module.hh"

namespace thinpipe::trainer {

class RecurrentImpl : public PrunableModule {
 public:
  // dropout: probability of dropping an output between two layers.
  RecurrentImpl(std::int64_t inputs, std::int64_t width, std::int64_t depth, double dropout);

  // x: float [n, length, inputs]. Returns [n, length, width]. Every sequence begins with a state of zeros.
  torch::Tensor forward(torch::Tensor x);

  std::vector<std::string> prunable_names() const override;
  torch::Tensor& prunable(const std::string& name) override;

 private:
  torch::Tensor run_layer(std::int64_t layer, const torch::Tensor& x);

  std::int64_t width_;
  std::int64_t depth_;
  std::map<std::string, torch::Tensor> own_;  // by name
  SeededDropout dropout_;
};
TORCH_MODULE(Recurrent);

}  // namespace thinpipe::trainer

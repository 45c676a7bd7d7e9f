// A model's parameters and buffers as named tensors.
#pragma once

#include "trainer/tensor_map.hh"

namespace thinpipe::trainer {

// Under their names in the model, each preceded by `prefix`. The tensors are the model's own, not copies.
TensorMap weights_of(const torch::nn::Module& model, const std::string& prefix = "");

// Copies every parameter and buffer of the model out of `tensors`; throws Error naming `source`, the tensor
// and the shapes when one is missing or does not fit. Tensors that the model does not have are an error when
// `prefix` is "".
void load_weights(torch::nn::Module& model, const TensorMap& tensors, const std::string& source,
                  const std::string& prefix = "");

}  // namespace thinpipe::trainer

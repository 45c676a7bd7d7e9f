// A model's parameters and buffers as named tensors.
#pragma once

#include "trainer/modules.hh"
#include "trainer/tensor_map.hh"

namespace thinpipe::trainer {

// Under their names in the model, each preceded by `prefix`. The tensors are the model's own, not copies.
TensorMap weights_of(const torch::nn::Module& model, const std::string& prefix = "");

// Copies every parameter and buffer of the model out of `tensors`, of exactly its shape and type; throws
// Error naming `source`, the tensor and the shapes when one is missing or does not fit. What does not begin
// with `prefix` is left alone: for checkpoints, which hold more than a model.
void load_weights(torch::nn::Module& model, const TensorMap& tensors, const std::string& source,
                  const std::string& prefix);

// How weights from elsewhere meet a model.
struct WeightRules {
  std::string head;       // the module that depends on the number of classes; "": unknown
  bool new_head = false;  // leave the head as initialised, and ignore the file's
};

// The same for weights from elsewhere. Numbers of another precision are converted to the model's; counters
// that older versions of PyTorch did not write (num_batches_tracked) may be missing and are then left alone.
// Everything that is missing, that the model does not have, or that does not fit is listed in one Error, and
// then nothing is copied. Returns what a reader of the log should know, a line each: conversions, and what
// was left alone.
std::vector<std::string> load_weights(torch::nn::Module& model, const TensorMap& tensors,
                                      const std::string& source, const WeightRules& rules = {});

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// A model's parameters and buffers as named tensors.
#pragma once

#include "trainer/base/modules.hh"
#include "trainer/base/tensor_map.hh"

namespace thinpipe::trainer {

// Returns the tensors under their names in the model, each after `prefix`. They are the
// model's own, not copies.
TensorMap weights_of(const torch::nn::Module& model, const std::string& prefix = "");

// Copies every parameter and buffer of the model from `tensors`. Throws Error naming `source`, the tensor and
// the shapes if one is missing or differs in shape or type. Ignores names that do not begin with `prefix`,
// because checkpoints contain more than a model.
void load_weights(torch::nn::Module& model, const TensorMap& tensors, const std::string& source,
                  const std::string& prefix);

// How to load weights of another origin.
struct WeightRules {
  std::string head;       // the module that depends on the number of classes; "": unknown
  bool new_head = false;  // leave the head as initialised, and ignore the file's
};

// Loads weights of another origin. Floating-point numbers are converted to the model's precision.
// Counters that older versions of PyTorch did not write (num_batches_tracked) may be missing and are then
// left unchanged. Otherwise, one Error lists every tensor that is missing, unknown to the model or of
// another shape or type, and nothing is copied. Returns notes for the log, one line each: conversions,
// and ignored tensors.
std::vector<std::string> load_weights(torch::nn::Module& model, const TensorMap& tensors,
                                      const std::string& source, const WeightRules& rules = {});

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// The output of a model for given inputs and weights, for comparing a model with another
// implementation of it.
#pragma once

#include <string>

namespace thinpipe::trainer {

// path: a JSON file {"schema_version": 1, "model": {"name": …}, "shape": {…}, "weights": PATH, "inputs":
//   PATH, "output": PATH}.
// shape: "classes" with "channels", "height" and "width", or with "sequence_length".
// weights: a dict of every parameter and buffer.
// inputs: one tensor, "inputs", ready for the model: float32 [n, channels, height, width], or int64
//   [n, sequence_length].
// Writes {"logits": float32 [n, …, classes]} of the model in evaluation mode to output. Throws InputError for
// the JSON file, Error for the tensors.
void forward(const std::string& path);

}  // namespace thinpipe::trainer

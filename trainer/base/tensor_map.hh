// SPDX-License-Identifier: Apache-2.0
// Named tensors, such as weights and the state in a checkpoint.
#pragma once

#include <map>
#include <string>

#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {

using TensorMap = std::map<std::string, torch::Tensor>;

// The tensors of a file.
struct FoundTensors {
  TensorMap tensors;
  // The name of the dict in a checkpoint that contains the tensors; "" if it is the whole file.
  std::string under;
};

// Returns the tensor of that name. Throws Error naming `what` (for example a file) and the name if it is
// missing or its shape or type differs from `like`.
torch::Tensor expect_tensor(const TensorMap& tensors, const std::string& name, const torch::Tensor& like,
                            const std::string& what);

// Returns, for example, "Float [64, 3, 7, 7]".
std::string describe_tensor(const torch::Tensor& tensor);

// Throws Error naming `what` if contiguous booleans read from a file have bytes other than 0 and 1. Ignores
// tensors of other types.
void check_booleans(const torch::Tensor& tensor, const std::string& what);

}  // namespace thinpipe::trainer

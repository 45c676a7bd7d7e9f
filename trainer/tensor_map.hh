// Named tensors in a file: weights and checkpoints. The format is PyTorch's own for a dict of tensors:
// Python's torch.load reads it, and a state dict written by torch.save is read back here.
#pragma once

#include <map>

#include "trainer/torch.hh"

namespace thinpipe::trainer {

using TensorMap = std::map<std::string, torch::Tensor>;

// Atomic: at no moment does a reader see half a file. Throws SystemError or Error naming the path.
void save_tensors(const TensorMap& tensors, const std::string& path);

// Throws Error naming the path when the file is missing, damaged or not a dict of tensors.
TensorMap load_tensors(const std::string& path);

// The tensor of that name; throws Error naming `what` (a file, say) and the name when it is missing or when
// its shape or type differs from `like`.
torch::Tensor expect_tensor(const TensorMap& tensors, const std::string& name, const torch::Tensor& like,
                            const std::string& what);

}  // namespace thinpipe::trainer

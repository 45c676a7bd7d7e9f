// Named tensors in a file: weights and checkpoints, as PyTorch's own files or as safetensors.
#pragma once

#include <map>

#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {

using TensorMap = std::map<std::string, torch::Tensor>;

// Saves atomically: readers never see an incomplete file. The name's extension decides the format:
// .safetensors, or .pt, .pth or .bin for PyTorch's. Throws SystemError or Error naming the path.
void save_tensors(const TensorMap& tensors, const std::string& path);

struct FoundTensors {
  TensorMap tensors;
  // The name of the dict in a checkpoint that contains the tensors; "" if it is the whole file.
  std::string under;
};

// Reads a file; its content decides the format. Removes torch.compile's wrappers from names, and
// DistributedDataParallel's "module." if all names begin with it. Throws Error naming the path if the file is
// missing or damaged, or does not contain exactly one dict of named tensors.
TensorMap load_tensors(const std::string& path);
FoundTensors load_found_tensors(const std::string& path);

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

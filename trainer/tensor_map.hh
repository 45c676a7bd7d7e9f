// Named tensors in a file: weights and checkpoints, as PyTorch's own files or as safetensors.
#pragma once

#include <map>

#include "trainer/tensors.hh"

namespace thinpipe::trainer {

using TensorMap = std::map<std::string, torch::Tensor>;

// Atomic: at no moment does a reader see half a file. The format goes by the name's ending: .safetensors, or
// .pt, .pth or .bin for PyTorch's. Throws SystemError or Error naming the path.
void save_tensors(const TensorMap& tensors, const std::string& path);

struct FoundTensors {
  TensorMap tensors;
  std::string under;  // the name of the dict that holds them in a checkpoint, "" if it is the whole file
};

// Reads a file of whatever format, which goes by its content. Names lose what torch.compile puts into them,
// and "module.", as DistributedDataParallel makes them, if they all begin with it. Throws Error naming the
// path when the file is missing, damaged, or holds no tensors or more than named tensors.
TensorMap load_tensors(const std::string& path);
FoundTensors load_found_tensors(const std::string& path);

// The tensor of that name; throws Error naming `what` (a file, say) and the name when it is missing or when
// its shape or type differs from `like`.
torch::Tensor expect_tensor(const TensorMap& tensors, const std::string& name, const torch::Tensor& like,
                            const std::string& what);

// "Float [64, 3, 7, 7]"
std::string describe_tensor(const torch::Tensor& tensor);

// Throws Error naming `what` when contiguous booleans read from a file have bytes other than 0 and 1. Tensors
// of other types pass.
void check_booleans(const torch::Tensor& tensor, const std::string& what);

}  // namespace thinpipe::trainer

// Files of named tensors, weights and checkpoints, as PyTorch's own files or as safetensors.
#pragma once

#include <string>

#include "trainer/base/tensor_map.hh"

namespace thinpipe::trainer {

// Atomic: at no moment does a reader see half a file. The format goes by the name's ending: .safetensors, or
// .pt, .pth or .bin for PyTorch's. Throws SystemError or Error naming the path.
void save_tensors(const TensorMap& tensors, const std::string& path);

// Reads a file of whatever format, which goes by its content. Names lose what torch.compile puts into them,
// and "module.", as DistributedDataParallel makes them, if they all begin with it. Throws Error naming the
// path when the file is missing, damaged, or holds no tensors or more than named tensors.
TensorMap load_tensors(const std::string& path);
FoundTensors load_found_tensors(const std::string& path);

}  // namespace thinpipe::trainer

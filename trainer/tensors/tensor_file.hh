// SPDX-License-Identifier: Apache-2.0
// Files of named tensors, weights and checkpoints, as PyTorch's own files or as safetensors.
#pragma once

#include <string>

#include "trainer/base/tensor_map.hh"

namespace thinpipe::trainer {

// Saves atomically: readers never see an incomplete file. The name's extension decides the format:
// .safetensors, or .pt, .pth or .bin for PyTorch's. Throws SystemError or Error naming the path.
void save_tensors(const TensorMap& tensors, const std::string& path);

// Reads a file; its content decides the format. Removes torch.compile's wrappers from names, and
// DistributedDataParallel's "module." if all names begin with it. Throws Error naming the path if the file is
// missing or damaged, or does not contain exactly one dict of named tensors.
TensorMap load_tensors(const std::string& path);
FoundTensors load_found_tensors(const std::string& path);

}  // namespace thinpipe::trainer

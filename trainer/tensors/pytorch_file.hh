// SPDX-License-Identifier: Apache-2.0
// PyTorch's files of named tensors. Reads files of torch.save, both today's zip archives and those of
// versions before 1.6. Writes files that torch.load can read, also with weights_only.
#pragma once

#include "trainer/base/tensor_map.hh"

namespace thinpipe::trainer {

constexpr std::uint64_t beginning_bytes = 40;  // enough to identify these files

// Returns whether a file with this beginning is one of the two kinds.
bool is_pytorch_file(std::string_view beginning);

// Reads a dict or OrderedDict of tensors: the whole file, or the only such member of a checkpoint, whatever
// its name. Tensors may share memory and need not be contiguous. Throws Error naming the path and the fault.
FoundTensors read_pytorch_file(const std::string& path);

// Writes atomically. Every tensor gets its own contiguous elements.
void write_pytorch_file(const TensorMap& tensors, const std::string& path);

}  // namespace thinpipe::trainer

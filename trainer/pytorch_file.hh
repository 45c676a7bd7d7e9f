// PyTorch's own files of named tensors: what torch.save writes, today's as a zip archive and that of versions
// before 1.6, and what torch.load reads, with weights_only as well.
#pragma once

#include "trainer/tensor_map.hh"

namespace thinpipe::trainer {

constexpr std::uint64_t beginning_bytes = 40;  // that tell these files from others

// Whether a file that begins so is one of the two kinds.
bool is_pytorch_file(std::string_view beginning);

// Reads a dict or OrderedDict of tensors, or the only one among the members of a checkpoint, whatever its
// name. Tensors may share memory and need not be contiguous. Throws Error naming the path and what is wrong.
FoundTensors read_pytorch_file(const std::string& path);

// Atomic. Every tensor on its own, contiguous.
void write_pytorch_file(const TensorMap& tensors, const std::string& path);

}  // namespace thinpipe::trainer

// The safetensors format: the header's length (uint64, little-endian), the header (JSON: of each tensor its
// dtype, shape and place), the elements. https://huggingface.co/docs/safetensors
#pragma once

#include "trainer/tensor_map.hh"

namespace thinpipe::trainer {

// Strict: the tensors must cover all that follows the header, each byte once. Throws Error naming the path,
// and the tensor where one is at fault.
TensorMap read_safetensors(const std::string& path);

// Atomic. Every tensor on its own, contiguous; those of wide elements first, so that all are aligned.
void write_safetensors(const TensorMap& tensors, const std::string& path);

}  // namespace thinpipe::trainer

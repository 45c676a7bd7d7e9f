// SPDX-License-Identifier: Apache-2.0
// The safetensors format: the header's length (uint64, little-endian), the header (JSON: each tensor's dtype,
// shape and position), the elements. https://huggingface.co/docs/safetensors
#pragma once

#include "trainer/base/tensor_map.hh"

namespace thinpipe::trainer {

// Strict: the tensors must cover all bytes after the header, each byte once. Throws Error naming the path and
// the faulty tensor, if any.
TensorMap read_safetensors(const std::string& path);

// The same, but the elements stay in the file, from where they are read when they are used: the tensors must
// not be written to. A tensor whose elements are not aligned for their type is read at once.
TensorMap map_safetensors(const std::string& path);

// Writes atomically. Every tensor gets its own contiguous elements, widest types first, so
// that all are aligned.
void write_safetensors(const TensorMap& tensors, const std::string& path);

}  // namespace thinpipe::trainer

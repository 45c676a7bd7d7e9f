// SPDX-License-Identifier: Apache-2.0
// Files of the MNIST family as tensors.
#pragma once

#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {

// Reads a plain or gzip-compressed IDX file of bytes with that many dimensions: uint8, in the shape that the
// header gives. Throws the errors of read_idx_bytes().
torch::Tensor read_idx(const std::string& path, std::int64_t dimensions);

}  // namespace thinpipe::trainer

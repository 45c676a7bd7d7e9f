// The IDX format of the MNIST family: a big-endian header (two zero bytes, element type, number of
// dimensions, each dimension as uint32), then the elements. http://yann.lecun.com/exdb/mnist/
#pragma once

#include "trainer/torch.hh"

namespace thinpipe::trainer {

// Reads a plain or gzip-compressed IDX file of bytes with that many dimensions: uint8, shaped as its header
// says. Throws SystemError when the file cannot be opened, and Error naming the file, what was expected and
// what is there when it is not such a file, is truncated, is corrupt, or is longer than its header says.
torch::Tensor read_idx(const std::string& path, std::int64_t dimensions);

}  // namespace thinpipe::trainer

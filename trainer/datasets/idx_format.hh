// The IDX format of the MNIST family: a big-endian header (two zero bytes, element type, number of
// dimensions, each dimension as uint32), then the elements. http://yann.lecun.com/exdb/mnist/
// Without LibTorch, so that it can be fuzzed.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace thinpipe::trainer {

// Makes room for as many elements as the shape has, in row-major order.
using AllocateElements = std::function<std::span<std::uint8_t>(const std::vector<std::int64_t>& shape)>;

// Reads a plain or gzip-compressed IDX file of bytes with that many dimensions into what `allocate` returns.
// Throws SystemError when the file cannot be opened, and Error naming the file, what was expected and what is
// there when it is not such a file, is truncated, is corrupt, or is longer than its header says.
void read_idx_bytes(const std::string& path, std::int64_t dimensions, const AllocateElements& allocate);

}  // namespace thinpipe::trainer

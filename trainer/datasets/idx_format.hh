// SPDX-License-Identifier: Apache-2.0
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

// Allocates room for all elements of the shape, in row-major order.
using AllocateElements = std::function<std::span<std::uint8_t>(const std::vector<std::int64_t>& shape)>;

// Reads a plain or gzip-compressed IDX file of bytes with that many dimensions into the memory that
// `allocate` returns. Throws SystemError if the file cannot be opened. Throws Error if the file has another
// format, is truncated, is corrupt, or is longer than its header gives; the error names the file, the
// expected value and the value found.
void read_idx_bytes(const std::string& path, std::int64_t dimensions, const AllocateElements& allocate);

}  // namespace thinpipe::trainer

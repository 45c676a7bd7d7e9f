// SPDX-License-Identifier: Apache-2.0
// The header of NumPy's .npy format: a magic string, the version, the header's length, then a Python literal
// with the elements' type, order and shape.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html Without LibTorch, so that it can be
// fuzzed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thinpipe::trainer {

// The magic string, the version, the length and the longest header that is accepted: any that NumPy writes
// for a plain type is far shorter.
constexpr std::uint64_t npy_beginning_bytes = 12 + 16384;

struct NpyHeader {
  std::string_view type;  // "u1", "i1", "i2", "i4", "i8", "f2", "f4" or "f8"
  std::vector<std::int64_t> shape;
  std::uint64_t elements_begin = 0;  // in bytes from the start
  std::uint64_t elements_bytes = 0;
};

// Reads the header of an array of `bytes` bytes in all. beginning: its first npy_beginning_bytes, or all of
// it. Strict: versions 1 to 3, C order, little-endian elements of the types above, which fill the rest.
// Throws Error naming `source`.
NpyHeader read_npy_header(std::string_view beginning, std::uint64_t bytes, const std::string& source);

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// Files in NumPy's format, for tests.
#pragma once

#include <string>

namespace thinpipe::trainer::testing {

// Returns the bytes of an array, with a header as NumPy pads it.
inline std::string npy_of_literal(std::string literal, const std::string& elements, char version = 1) {
  const std::size_t begin = version == 1 ? 10 : 12;
  literal.append(63 - (begin + literal.size()) % 64, ' ').push_back('\n');
  std::string bytes = std::string("\x93NUMPY") + version + '\0';
  for (std::size_t i = 0; i < begin - 8; ++i) bytes += static_cast<char>(literal.size() >> (8 * i) & 255U);
  return bytes + literal + elements;
}

// descr: such as "<f4". shape: such as "(3, 4)".
inline std::string npy(const std::string& descr, const std::string& shape, const std::string& elements) {
  return npy_of_literal("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }",
                        elements);
}

}  // namespace thinpipe::trainer::testing

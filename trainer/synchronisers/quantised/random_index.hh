// SPDX-License-Identifier: Apache-2.0
// A random index from a word of a philox stream, by integer arithmetic: the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thinpipe::trainer {

// Returns 0 to count - 1, each with the same probability up to count parts in 2^32.
inline std::size_t random_index(std::uint32_t word, std::size_t count) {
  return static_cast<std::size_t>((std::uint64_t{word} * count) >> 32U);
}

}  // namespace thinpipe::trainer

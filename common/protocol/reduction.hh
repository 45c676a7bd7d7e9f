// SPDX-License-Identifier: Apache-2.0
// The operations of an all-reduce.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace thinpipe {

// scaled_sum: elements are blocks of bytes with a scale (trainer/collectives/scaled_block.hh), whose sum is rounded
// to such a block again wherever it is computed.
enum class Reduction { sum, max, scaled_sum };

// Bytes of a block of scaled_sum.
inline constexpr std::int64_t reduced_block_bytes = 260;

// In the order of Reduction.
inline constexpr std::array<std::string_view, 3> reduction_names = {"sum", "max", "scaled_sum"};

constexpr std::string_view name_of(Reduction reduction) {
  return reduction_names.at(static_cast<std::size_t>(reduction));
}

}  // namespace thinpipe

// The operations of all_reduce on the workers' elements.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace thinpipe::trainer {

enum class Reduction { sum, max };

constexpr std::string_view name_of(Reduction reduction) {
  return reduction == Reduction::sum ? "sum" : "max";
}

// Reduces the i-th elements of all parts into into[i], one part after the other, for `count` elements. No
// part overlaps `into`. float16 and bfloat16 are summed in float32 and rounded once.
using Reduce = void (*)(void* into, std::span<const void* const> parts, std::size_t count);

}  // namespace thinpipe::trainer

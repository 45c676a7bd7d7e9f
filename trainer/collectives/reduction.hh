// What all_reduce does with the workers' elements.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace thinpipe::trainer {

enum class Reduction { sum, max };

// "sum" or "max".
constexpr std::string_view name_of(Reduction reduction) {
  return reduction == Reduction::sum ? "sum" : "max";
}

// into[i] = into[i] (+ or max) the i-th of each part, one after the other, for `count` elements. No part
// overlaps `into`. A sum of float16 or bfloat16 is one of float32, and rounded once.
using Reduce = void (*)(void* into, std::span<const void* const> parts, std::size_t count);

}  // namespace thinpipe::trainer

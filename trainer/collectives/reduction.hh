// The elementwise arithmetic of all_reduce, shared by the backends.
//
// Sums of float16 and bfloat16 round to the nearest, ties to even, as a network that carries them does.
// Integer sums wrap.
#pragma once

#include <cstddef>
#include <span>

#include "trainer/collectives/collective.hh"

namespace thinpipe::trainer {

// into[i] = into[i] (+ or max) the i-th of each part, one after the other, for `count` elements. No part
// overlaps `into`. A sum of float16 or bfloat16 is one of float32, and rounded once.
using Reduce = void (*)(void* into, std::span<const void* const> parts, std::size_t count);

// Throws Error for a type that all_reduce does not take.
Reduce reduce_function(torch::ScalarType type, Reduction reduction);

// "sum" or "max".
std::string_view name_of(Reduction reduction);

}  // namespace thinpipe::trainer

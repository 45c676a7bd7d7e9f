// The elementwise arithmetic of all_reduce, shared by the backends.
//
// Sums of float16 and bfloat16 round to the nearest, ties to even, as a network that carries them does.
// Integer sums wrap.
#pragma once

#include <cstddef>
#include <span>

#include "trainer/collectives/collective.hh"

namespace thinpipe::trainer {

// into[i] = into[i] (+ or max) from[i] for `count` elements. The two ranges do not overlap.
using Accumulate = void (*)(void* into, const void* from, std::size_t count);

// The same with several at a time, in their order. A sum of float16 or bfloat16 is one of float32, and
// rounded once.
using SumUp = void (*)(void* into, std::span<const void* const> parts, std::size_t count);

// Throw Error for a type that all_reduce does not take.
Accumulate accumulate_function(torch::ScalarType type, Reduction reduction);
SumUp sum_up_function(torch::ScalarType type, Reduction reduction);

// "sum" or "max".
std::string_view name_of(Reduction reduction);

}  // namespace thinpipe::trainer

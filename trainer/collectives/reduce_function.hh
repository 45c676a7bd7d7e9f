// The elementwise arithmetic of all_reduce, shared by the backends.
//
// Sums of float16 and bfloat16 round to the nearest, ties to even, as a network that carries them does.
// Integer sums wrap.
#pragma once

#include "trainer/collectives/reduction.hh"
#include "trainer/tensors.hh"

namespace thinpipe::trainer {

// Throws Error for a type that all_reduce does not take.
Reduce reduce_function(torch::ScalarType type, Reduction reduction);

}  // namespace thinpipe::trainer

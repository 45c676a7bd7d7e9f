// SPDX-License-Identifier: Apache-2.0
// The elementwise arithmetic of all_reduce, shared by the backends.
//
// Sums of float16 and bfloat16 round to nearest, ties to even, as on a network that carries them. Integer
// sums wrap.
#pragma once

#include "trainer/base/tensors.hh"
#include "trainer/collectives/reduction.hh"

namespace thinpipe::trainer {

// Returns the function for a type. Throws Error for a type that all_reduce does not support.
Reduce reduce_function(torch::ScalarType type, Reduction reduction);

}  // namespace thinpipe::trainer

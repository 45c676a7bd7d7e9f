// SPDX-License-Identifier: Apache-2.0
// The orthonormal Walsh-Hadamard transform, its own inverse:
//   y_i = (1/√n)·Σ_j (-1)^popcount(i & j)·x_j
#pragma once

#include <span>

namespace thinpipe::trainer {

// Transforms in place, with n·log2(n) additions. n: a power of two.
void walsh_hadamard(std::span<float> values);

}  // namespace thinpipe::trainer

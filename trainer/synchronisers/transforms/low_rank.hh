// SPDX-License-Identifier: Apache-2.0
// Thin factors of matrices: the operations besides matrix products that sending M as P·Qᵀ requires.
#pragma once

#include <span>

#include "trainer/base/philox.hh"
#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {

// Fills `out` with standard normal numbers: the Box-Muller transform of the stream's uniform numbers.
void fill_normal(const RandomStream& stream, std::span<float> out);

// Fills the zero columns of `matrix`, float32 [rows, columns], with normal numbers of the stream. Each column
// index always gets the same numbers.
void fill_zero_columns(const torch::Tensor& matrix, const RandomStream& stream);

// Makes the columns of `matrix`, float32 [rows, columns], orthonormal with the same span, by modified
// Gram-Schmidt. A column that depends on earlier ones becomes zero. Works in float64, where the float32
// rounding residue of a dependent column is still orthogonal to the earlier columns. Infinities and NaN
// become NaN and spread.
void orthonormalise(const torch::Tensor& matrix);

}  // namespace thinpipe::trainer

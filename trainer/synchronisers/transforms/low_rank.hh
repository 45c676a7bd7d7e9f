// Thin factors of matrices: what a method that sends M as P·Qᵀ needs beside matrix products.
#pragma once

#include <span>

#include "trainer/philox.hh"
#include "trainer/tensors.hh"

namespace thinpipe::trainer {

// Standard normal numbers, by Box and Muller's transform of the stream's uniform ones.
void fill_normal(const RandomStream& stream, std::span<float> out);

// Columns of `matrix`, float32 [rows, columns], that are zero become normal numbers of the stream; column c
// has always the same ones.
void fill_zero_columns(const torch::Tensor& matrix, const RandomStream& stream);

// The columns of `matrix`, float32 [rows, columns], become orthonormal and span what they did, by modified
// Gram-Schmidt; a column that depends on those before it becomes zero. In float64, in which what rounding to
// float32 has left of such a column is still at right angles to them. Infinities and NaN become NaN, and
// spread.
void orthonormalise(const torch::Tensor& matrix);

}  // namespace thinpipe::trainer

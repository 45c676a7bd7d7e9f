// SPDX-License-Identifier: Apache-2.0
// Transforms the blocks of a matrix to the frequencies of the discrete cosine transform (DCT-II) and back.
#pragma once

#include <map>

#include "trainer/synchronisers/transforms/block_grid.hh"

namespace thinpipe::trainer {

// Returns C, float32 [size, size], orthonormal: C·x are the coefficients of x, and Cᵀ·c inverts it.
//   C_fi = √(2/size)·cos(π·f·(2i + 1)/(2·size)), and 1/√2 of that for f = 0
torch::Tensor cosine_matrix(std::int64_t size);

class BlockTransform {
 public:
  // Returns the coefficients of each block, float32 [blocks, entries_per_block], contiguous.
  torch::Tensor forward(const torch::Tensor& matrix, const BlockGrid& grid);

  // Sets the grid's part of `matrix` to the inverse transform of the coefficients.
  void inverse(const torch::Tensor& coefficients, const BlockGrid& grid, const torch::Tensor& matrix);

 private:
  const torch::Tensor& cosines(std::int64_t size);

  std::map<std::int64_t, torch::Tensor> cosines_;  // by size
};

}  // namespace thinpipe::trainer

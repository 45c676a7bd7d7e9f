// Matrices cut into blocks and taken to the frequencies of the discrete cosine transform (DCT-II) and back.
#pragma once

#include <map>
#include <vector>

#include "trainer/tensors.hh"

namespace thinpipe::trainer {

// C, float32 [size, size], orthonormal: C·x are the coefficients of x, Cᵀ·c is what coefficients stand for.
//   C_fi = √(2/size)·cos(π·f·(2i + 1)/(2·size)), and 1/√2 of that for f = 0
torch::Tensor cosine_matrix(std::int64_t size);

// Equal blocks beside and below each other, from (row, column) on.
struct BlockGrid {
  std::int64_t row = 0;
  std::int64_t column = 0;
  std::int64_t down = 0;    // blocks
  std::int64_t across = 0;  // blocks
  std::int64_t height = 0;  // of a block
  std::int64_t width = 0;   // of a block

  std::int64_t blocks() const { return down * across; }
  std::int64_t entries_per_block() const { return height * width; }
  bool operator==(const BlockGrid&) const = default;
};

// Every entry of the matrix in one block of size×size at most: where these do not fill it, the blocks along
// its right and lower edges are smaller, so that there is nothing to pad. At most four grids.
std::vector<BlockGrid> cut_into_blocks(std::int64_t rows, std::int64_t columns, std::int64_t size);

class BlockTransform {
 public:
  // The coefficients of each block, float32 [blocks, entries_per_block], contiguous.
  torch::Tensor forward(const torch::Tensor& matrix, const BlockGrid& grid);

  // The grid's part of `matrix` becomes what the coefficients stand for.
  void inverse(const torch::Tensor& coefficients, const BlockGrid& grid, const torch::Tensor& matrix);

 private:
  const torch::Tensor& cosines(std::int64_t size);

  std::map<std::int64_t, torch::Tensor> cosines_;  // by size
};

}  // namespace thinpipe::trainer

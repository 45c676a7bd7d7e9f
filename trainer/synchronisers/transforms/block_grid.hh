// SPDX-License-Identifier: Apache-2.0
// A matrix cut into blocks.
#pragma once

#include <vector>

#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {

// Equal blocks in rows and columns, starting at (row, column).
struct BlockGrid {
  std::int64_t row = 0;
  std::int64_t column = 0;
  std::int64_t down = 0;    // number of blocks
  std::int64_t across = 0;  // number of blocks
  std::int64_t height = 0;  // of a block
  std::int64_t width = 0;   // of a block

  std::int64_t blocks() const { return down * across; }
  std::int64_t entries_per_block() const { return height * width; }
  bool operator==(const BlockGrid&) const = default;
};

// Cuts a matrix into blocks of at most size×size. Blocks along its right and lower edges are smaller if the
// size does not divide evenly, so nothing is padded. Returns at most four grids.
std::vector<BlockGrid> cut_into_blocks(std::int64_t rows, std::int64_t columns, std::int64_t size);

// Returns the grid's part of the matrix as a view, [down, across, height, width].
torch::Tensor blocks_of(const torch::Tensor& matrix, const BlockGrid& grid);

}  // namespace thinpipe::trainer

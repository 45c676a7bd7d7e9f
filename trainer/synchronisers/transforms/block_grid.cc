// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/transforms/block_grid.hh"

namespace thinpipe::trainer {
namespace {

// The blocks along one dimension: where they begin, their number and length. First the whole blocks, then the
// rest.
struct Stretch {
  std::int64_t begin;
  std::int64_t count;
  std::int64_t length;
};

std::vector<Stretch> cut_into_stretches(std::int64_t length, std::int64_t size) {
  std::vector<Stretch> out;
  const std::int64_t whole = length / size;
  if (whole > 0) out.push_back({0, whole, size});
  if (length % size > 0) out.push_back({whole * size, 1, length % size});
  return out;
}

}  // namespace

std::vector<BlockGrid> cut_into_blocks(std::int64_t rows, std::int64_t columns, std::int64_t size) {
  std::vector<BlockGrid> out;
  for (const Stretch& down : cut_into_stretches(rows, size)) {
    for (const Stretch& across : cut_into_stretches(columns, size)) {
      out.push_back({.row = down.begin,
                     .column = across.begin,
                     .down = down.count,
                     .across = across.count,
                     .height = down.length,
                     .width = across.length});
    }
  }
  return out;
}

torch::Tensor blocks_of(const torch::Tensor& matrix, const BlockGrid& grid) {
  return matrix.narrow(0, grid.row, grid.down * grid.height)
      .narrow(1, grid.column, grid.across * grid.width)
      .unflatten(0, {grid.down, grid.height})
      .unflatten(2, {grid.across, grid.width})
      .transpose(1, 2);
}

}  // namespace thinpipe::trainer

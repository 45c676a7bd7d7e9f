#include "trainer/synchronisers/transforms/block_transform.hh"

#include <cmath>
#include <numbers>

#include "trainer/base/tensor_span.hh"

namespace thinpipe::trainer {
namespace {

// Returns the grid's part of the matrix as a view [down, across, height, width].
torch::Tensor blocks_of(const torch::Tensor& matrix, const BlockGrid& grid) {
  return matrix.narrow(0, grid.row, grid.down * grid.height)
      .narrow(1, grid.column, grid.across * grid.width)
      .unflatten(0, {grid.down, grid.height})
      .unflatten(2, {grid.across, grid.width})
      .transpose(1, 2);
}

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

torch::Tensor cosine_matrix(std::int64_t size) {
  torch::Tensor out = torch::empty({size, size});
  const std::span<float> values = floats(out);
  const auto n = static_cast<double>(size);
  for (std::int64_t f = 0; f < size; ++f) {
    const double factor = std::sqrt((f == 0 ? 1 : 2) / n);
    for (std::int64_t i = 0; i < size; ++i) {
      const double angle = std::numbers::pi * static_cast<double>(f * (2 * i + 1)) / (2 * n);
      values[static_cast<std::size_t>(f * size + i)] = static_cast<float>(factor * std::cos(angle));
    }
  }
  return out;
}

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

torch::Tensor BlockTransform::forward(const torch::Tensor& matrix, const BlockGrid& grid) {
  const torch::Tensor values = blocks_of(matrix, grid).reshape({grid.blocks(), grid.height, grid.width});
  const torch::Tensor by_row = torch::matmul(values, cosines(grid.width).t());
  return torch::matmul(cosines(grid.height), by_row).reshape({grid.blocks(), grid.entries_per_block()});
}

void BlockTransform::inverse(const torch::Tensor& coefficients, const BlockGrid& grid,
                             const torch::Tensor& matrix) {
  const torch::Tensor values = coefficients.view({grid.blocks(), grid.height, grid.width});
  const torch::Tensor by_row = torch::matmul(values, cosines(grid.width));
  const torch::Tensor out = torch::matmul(cosines(grid.height).t(), by_row);
  blocks_of(matrix, grid).copy_(out.view({grid.down, grid.across, grid.height, grid.width}));
}

const torch::Tensor& BlockTransform::cosines(std::int64_t size) {
  torch::Tensor& matrix = cosines_[size];
  if (!matrix.defined()) matrix = cosine_matrix(size);
  return matrix;
}

}  // namespace thinpipe::trainer

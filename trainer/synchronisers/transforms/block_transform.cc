// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/transforms/block_transform.hh"

#include <cmath>
#include <numbers>

#include "trainer/base/tensor_span.hh"

namespace thinpipe::trainer {
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

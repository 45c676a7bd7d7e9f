// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/transforms/low_rank.hh"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "trainer/base/tensor_span.hh"

namespace thinpipe::trainer {
namespace {

// A column depends on the columns before it if less than this share of its length is orthogonal to them.
constexpr double min_independent_share = 1e-12;

double product_of(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

void fill_normal(const RandomStream& stream, std::span<float> out) {
  std::vector<float> uniform(out.size() + out.size() % 2);
  fill_uniform(stream, uniform);
  for (std::size_t i = 0; i < out.size(); i += 2) {
    const double radius = std::sqrt(-2 * std::log1p(-double{uniform[i]}));  // uniform is below 1
    const double angle = 2 * std::numbers::pi * uniform[i + 1];
    out[i] = static_cast<float>(radius * std::cos(angle));
    if (i + 1 < out.size()) out[i + 1] = static_cast<float>(radius * std::sin(angle));
  }
}

void fill_zero_columns(const torch::Tensor& matrix, const RandomStream& stream) {
  const torch::Tensor zero = matrix.eq(0).all(0);
  if (!zero.any().item<bool>()) return;
  const torch::Tensor normal = torch::empty_like(matrix);
  fill_normal(stream, floats(normal));
  matrix.copy_(torch::where(zero, normal, matrix));
}

void orthonormalise(const torch::Tensor& matrix) {
  const torch::Tensor transposed = matrix.t().to(torch::kDouble).contiguous();
  std::vector<std::span<double>> columns;
  for (std::int64_t c = 0; c < transposed.size(0); ++c) {
    columns.push_back(elements<double>(transposed.select(0, c)));
  }
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const std::span<double> column = columns[c];
    const double length = std::sqrt(product_of(column, column));
    for (std::size_t before = 0; before < c; ++before) {
      const double share = product_of(columns[before], column);
      for (std::size_t i = 0; i < column.size(); ++i) column[i] -= share * columns[before][i];
    }
    const double left = std::sqrt(product_of(column, column));
    // For an infinite column the comparison would report dependence.
    if (std::isfinite(left) && left <= min_independent_share * length) {
      std::ranges::fill(column, 0.0);
    } else {
      for (double& entry : column) entry /= left;
    }
  }
  matrix.copy_(transposed.t());
}

}  // namespace thinpipe::trainer

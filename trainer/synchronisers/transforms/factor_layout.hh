// SPDX-License-Identifier: Apache-2.0
// Which matrices of a bucket are sent as factors P·Qᵀ, and where each is in the bucket's two messages. Both
// have one parameter after another. The first has P or, for a dense parameter, all its entries; the second
// has Q.
#pragma once

#include <algorithm>

#include "trainer/base/bucket.hh"

namespace thinpipe::trainer {

// A parameter as a matrix; rank 0 if it is sent dense.
struct MatrixForm {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t rank = 0;

  bool is_dense() const { return rank == 0; }
  std::int64_t width_of_first() const { return is_dense() ? columns : rank; }
};

// A parameter in a step.
struct FactoredPart {
  std::size_t parameter = 0;
  bool is_dense = false;
  torch::Tensor matrix;  // float32 [rows, columns], of the bucket
  torch::Tensor first;   // float32 [rows, rank], or [rows, columns] if dense
  torch::Tensor second;  // float32 [columns, rank]
};

class FactorLayout {
 public:
  // Compresses a matrix to factors of min(rank, rows, columns) columns if they have more than min_compression
  // times fewer entries than the matrix.
  FactorLayout(const std::vector<ParameterInfo>& parameters, std::int64_t rank, double min_compression) {
    for (const ParameterInfo& parameter : parameters) {
      const std::int64_t rows = std::max<std::int64_t>(1, parameter.rows);
      const std::int64_t columns = parameter.size / rows;
      const std::int64_t most = std::min({rank, rows, columns});
      const bool pays = most > 0 && static_cast<double>((rows + columns) * most) * min_compression <
                                        static_cast<double>(rows * columns);
      forms_.push_back({.rows = rows, .columns = columns, .rank = pays ? most : 0});
    }
  }

  const MatrixForm& form(std::size_t parameter) const { return forms_[parameter]; }

  std::int64_t first_entries(const Bucket& bucket) const {
    std::int64_t sum = 0;
    for (const Slice& slice : bucket.slices) {
      sum += form(slice.parameter).rows * form(slice.parameter).width_of_first();
    }
    return sum;
  }

  std::int64_t second_entries(const Bucket& bucket) const {
    std::int64_t sum = 0;
    for (const Slice& slice : bucket.slices) {
      sum += form(slice.parameter).columns * form(slice.parameter).rank;
    }
    return sum;
  }

  // Calls action(FactoredPart&) for each parameter of the bucket; its tensors are views.
  void for_each_part(const Bucket& bucket, const torch::Tensor& first, const torch::Tensor& second,
                     const auto& action) const {
    std::int64_t first_begin = 0;
    std::int64_t second_begin = 0;
    const auto cut = [](const torch::Tensor& message, std::int64_t& begin, std::int64_t rows,
                        std::int64_t columns) {
      torch::Tensor part = message.narrow(0, begin, rows * columns).view({rows, columns});
      begin += rows * columns;
      return part;
    };
    for (const Slice& slice : bucket.slices) {
      const MatrixForm& of = form(slice.parameter);
      FactoredPart part{.parameter = slice.parameter,
                        .is_dense = of.is_dense(),
                        .matrix = bucket.view(slice).view({of.rows, of.columns}),
                        .first = cut(first, first_begin, of.rows, of.width_of_first()),
                        .second = cut(second, second_begin, of.columns, of.rank)};
      action(part);
    }
  }

 private:
  std::vector<MatrixForm> forms_;  // per parameter
};

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
#include "trainer/models/layers/attention.hh"

#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace thinpipe::trainer {

torch::Tensor attend(const torch::Tensor& projected, std::int64_t heads, AttentionMask mask) {
  const std::int64_t tokens = projected.size(1);
  const std::int64_t width = projected.size(2) / 3;
  const std::int64_t head_width = width / heads;
  // Query, key and value, each [n, heads, tokens, head_width].
  const std::vector<torch::Tensor> parts =
      projected.view({-1, tokens, 3, heads, head_width}).permute({2, 0, 3, 1, 4}).unbind(0);
  const torch::Tensor query = parts[0] / std::sqrt(static_cast<double>(head_width));
  torch::Tensor scores = query.matmul(parts[1].transpose(-2, -1));
  if (mask == AttentionMask::causal) {
    const torch::Tensor later = torch::ones({tokens, tokens}, scores.options().dtype(torch::kBool)).triu(1);
    scores = scores.masked_fill(later, -std::numeric_limits<double>::infinity());
  }
  return scores.softmax(-1).matmul(parts[2]).transpose(1, 2).reshape({-1, tokens, width});
}

void expect_even_heads(const JsonObject& model, std::int64_t width, std::int64_t heads) {
  if (width % heads == 0) return;
  throw InputError(model.place_of("heads"),
                   fmt::format("must divide the width, but {1} is not a multiple of {0}", heads, width));
}

}  // namespace thinpipe::trainer

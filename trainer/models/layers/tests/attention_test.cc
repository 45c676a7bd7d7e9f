// SPDX-License-Identifier: Apache-2.0
#include "trainer/models/layers/attention.hh"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

// One head of one unit. Both queries are 1; the keys 0 and ln 3 give the weights 1/4 and 3/4.
TEST(Attend, WeighsValuesBySoftmaxOfQueriesTimesKeys) {
  const auto ln3 = static_cast<float>(std::log(3.0));
  const torch::Tensor projected = torch::tensor({1.0F, 0.0F, 2.0F, 1.0F, ln3, 6.0F}).view({1, 2, 3});
  EXPECT_TRUE(
      attend(projected, 1, AttentionMask::full).allclose(torch::tensor({5.0F, 5.0F}).view({1, 2, 1})));
  EXPECT_TRUE(
      attend(projected, 1, AttentionMask::causal).allclose(torch::tensor({2.0F, 5.0F}).view({1, 2, 1})));
}

// Compares the layout of queries, keys, values and heads, and the scale, with LibTorch's attention.
TEST(Attend, AgreesWithLibtorchsAttention) {
  torch::manual_seed(1);
  torch::nn::MultiheadAttention reference(12, 3);
  torch::nn::init::normal_(reference->in_proj_bias);
  const torch::Tensor x = torch::randn({2, 5, 12});
  const torch::Tensor projected = torch::linear(x, reference->in_proj_weight, reference->in_proj_bias);
  const torch::Tensor later = torch::full({5, 5}, -std::numeric_limits<float>::infinity()).triu(1);
  for (const AttentionMask mask : {AttentionMask::full, AttentionMask::causal}) {
    const torch::Tensor ours = reference->out_proj(attend(projected, 3, mask));
    const torch::Tensor turned = x.transpose(0, 1);  // LibTorch's attention takes [tokens, n, width]
    const torch::Tensor theirs = std::get<0>(reference->forward(
        turned, turned, turned, {}, false, mask == AttentionMask::causal ? later : torch::Tensor()));
    EXPECT_TRUE(ours.allclose(theirs.transpose(0, 1), 1e-4, 1e-5));
  }
}

}  // namespace
}  // namespace thinpipe::trainer

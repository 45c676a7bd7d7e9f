// SPDX-License-Identifier: Apache-2.0
// Self-attention, without its input and output projections, from matrix products and a softmax. Fused kernels
// are not used: they have no second derivative, which Hessian-vector products need.
// Vaswani et al.: Attention Is All You Need (2017), section 3.2.
#pragma once

#include "common/support/json_object.hh"
#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {

// The tokens that a token attends to: all of them, or itself and those before it.
enum class AttentionMask { full, causal };

// Returns [n, tokens, width], the input of the output projection.
// projected: [n, tokens, 3 * width], the output of the input projection: each token's query, key and
// value of all heads.
torch::Tensor attend(const torch::Tensor& projected, std::int64_t heads, AttentionMask mask);

// Throws InputError at the model's "heads" unless heads divides width.
void expect_even_heads(const JsonObject& model, std::int64_t width, std::int64_t heads);

}  // namespace thinpipe::trainer

// Self-attention between its two projections, out of plain products and a softmax: fused kernels have no
// second derivative, which Hessian-vector products need. Vaswani et al.: Attention Is All You Need (2017),
// section 3.2.
#pragma once

#include "harness/support/json_object.hh"
#include "trainer/tensors.hh"

namespace thinpipe::trainer {

enum class Sight { everything, past };  // what a token attends to; past: itself and what precedes it

// projected: [n, tokens, 3 * width], each token's query, key and value of all heads: the input projection's
// result. Result: [n, tokens, width], for the output projection.
torch::Tensor attend(const torch::Tensor& projected, std::int64_t heads, Sight sight);

// Throws InputError at the model's "heads" unless the heads share the width evenly.
void expect_even_heads(const JsonObject& model, std::int64_t width, std::int64_t heads);

}  // namespace thinpipe::trainer

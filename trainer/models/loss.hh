// SPDX-License-Identifier: Apache-2.0
// The loss functions of training.
#pragma once

#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {

// Returns the cross-entropy in nats, a scalar: the mean over examples, or over all tokens of all
// examples of a text.
// logits: [n, classes] or [n, sequence_length, classes]; labels: int64 [n] or [n, sequence_length]. With
// smoothing s the target is 1 - s for the label plus s / classes for every class.
torch::Tensor cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels, double smoothing = 0);

// Returns the cross-entropy without smoothing, summed instead of averaged.
torch::Tensor summed_cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels);

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// Batches in which every class has the same number of examples.
#pragma once

#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {

// Returns per batch int64 [classes * examples_per_class]: indices into labels (integers [n]), ascending.
// Classes are those that occur in labels. Each batch takes the next examples of every class in `order`, a
// permutation of 0..n-1. Throws Error if a class has too few examples.
std::vector<torch::Tensor> class_balanced_batches(const torch::Tensor& labels,
                                                  const std::vector<std::int64_t>& order,
                                                  std::int64_t batches, std::int64_t examples_per_class);

}  // namespace thinpipe::trainer

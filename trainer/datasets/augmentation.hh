// SPDX-License-Identifier: Apache-2.0
// Random crops and flips of training images.
#pragma once

#include "trainer/datasets/dataset.hh"

namespace thinpipe::trainer {

struct AugmentationDraw {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;  // or the pass, if the worker has examples of its own
};

// Returns augmented images in the shape of `images`: uint8 [n, channels, height, width], of the examples
// `indices`, int64 [n]. The result for an example depends on seed, epoch and its index alone, never on its
// batch or worker.
torch::Tensor augment(const torch::Tensor& images, const torch::Tensor& indices,
                      const Augmentation& augmentation, const AugmentationDraw& draw);

}  // namespace thinpipe::trainer

// Random crops and flips of training images.
#pragma once

#include "trainer/datasets/dataset.hh"

namespace thinpipe::trainer {

struct AugmentationDraw {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
};

// images: uint8 [n, channels, height, width] of the examples `indices`, int64 [n]; the result has the same
// shape. What happens to an example depends on seed, epoch and its index alone, never on the batch or worker
// it is in.
torch::Tensor augment(const torch::Tensor& images, const torch::Tensor& indices,
                      const Augmentation& augmentation, const AugmentationDraw& draw);

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// Normalisation: from stored numbers, mostly bytes, to a model's inputs.
#pragma once

#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {

class Normalisation {
 public:
  // mean, standard_deviation: one per channel, of values divided by `unit`: bytes are scaled to [0, 1].
  Normalisation(const std::vector<double>& mean, const std::vector<double>& standard_deviation,
                double unit = 255);

  // Uses the mean and deviation of the images themselves: uint8 [n, channels, height, width]. The deviation
  // of a constant channel is taken as 1.
  static Normalisation of(const torch::Tensor& images);

  // Returns (x / unit - mean) / deviation as float32, for images [n, channels, height, width], in the same
  // shape and on the same device.
  torch::Tensor operator()(const torch::Tensor& images) const;

 private:
  torch::Tensor scale_;  // float32 [1, channels, 1, 1]
  torch::Tensor shift_;  // float32 [1, channels, 1, 1]
};

}  // namespace thinpipe::trainer

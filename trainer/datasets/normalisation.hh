// From stored bytes to what a model takes.
#pragma once

#include "trainer/tensors.hh"

namespace thinpipe::trainer {

class Normalisation {
 public:
  // One mean and one standard deviation per channel, of pixels scaled to [0, 1].
  Normalisation(const std::vector<double>& mean, const std::vector<double>& standard_deviation);

  // Those of the images themselves: uint8 [n, channels, height, width]. A constant channel counts as
  // deviating by 1.
  static Normalisation of(const torch::Tensor& images);

  // uint8 [n, channels, height, width] -> float32 of the same shape, on the same device: (x / 255 - mean) /
  // deviation.
  torch::Tensor operator()(const torch::Tensor& images) const;

 private:
  torch::Tensor scale_;  // float32 [1, channels, 1, 1]
  torch::Tensor shift_;  // float32 [1, channels, 1, 1]
};

}  // namespace thinpipe::trainer

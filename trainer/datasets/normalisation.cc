// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/normalisation.hh"

#include <cmath>

namespace thinpipe::trainer {

Normalisation::Normalisation(const std::vector<double>& mean, const std::vector<double>& standard_deviation,
                             double unit) {
  const torch::Tensor deviation = torch::tensor(standard_deviation, torch::kFloat64).view({1, -1, 1, 1});
  scale_ = (1 / (unit * deviation)).to(torch::kFloat32);
  shift_ = (-torch::tensor(mean, torch::kFloat64).view({1, -1, 1, 1}) / deviation).to(torch::kFloat32);
}

Normalisation Normalisation::of(const torch::Tensor& images) {
  std::vector<double> mean;
  std::vector<double> deviation;
  for (std::int64_t channel = 0; channel < images.size(1); ++channel) {
    // The sums of a histogram are exact, and it needs no copy of the images as floats.
    const torch::Tensor counts =
        torch::bincount(images.select(1, channel).flatten(), {}, 256).to(torch::kFloat64) /
        static_cast<double>(images.size(0) * images.size(2) * images.size(3));
    const torch::Tensor levels = torch::arange(256, torch::kFloat64) / 255;
    const double centre = (counts * levels).sum().item<double>();
    const double variance = (counts * (levels - centre).square()).sum().item<double>();
    mean.push_back(centre);
    deviation.push_back(variance > 0 ? std::sqrt(variance) : 1);
  }
  return {mean, deviation};
}

torch::Tensor Normalisation::operator()(const torch::Tensor& images) const {
  // A copy even of floats, which may lie in a file.
  return images.to(torch::kFloat32, /*non_blocking=*/false, /*copy=*/true)
      .mul_(scale_.to(images.device()))
      .add_(shift_.to(images.device()));
}

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/image_dataset.hh"

#include <fmt/format.h>
#include <torch/nn/functional/upsampling.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {

void check_class_counts(const torch::Tensor& labels, const std::vector<std::int64_t>& counts,
                        const std::string& source) {
  const torch::Tensor found = torch::bincount(labels, {}, std::ssize(counts));
  for (std::int64_t c = 0; c < std::ssize(counts); ++c) {
    const auto count = found[c].item<std::int64_t>();
    if (count != counts[static_cast<std::size_t>(c)]) {
      throw Error(
          fmt::format("{}: {} examples of class {}, but the published set has {}: the labels are damaged",
                      source, count, c, counts[static_cast<std::size_t>(c)]));
    }
  }
}

Examples outlined_images(std::int64_t count, std::int64_t channels, std::int64_t height, std::int64_t width) {
  return {torch::empty({count, channels, height, width}, torch::device(torch::kMeta).dtype(torch::kUInt8)),
          torch::empty({count}, torch::device(torch::kMeta).dtype(torch::kInt64))};
}

DataShape ImageDataset::shape() const {
  return {.channels = parts_.train.inputs.size(1),
          .height = parts_.side.value_or(parts_.train.inputs.size(2)),
          .width = parts_.side.value_or(parts_.train.inputs.size(3)),
          .classes = parts_.classes};
}

torch::Tensor ImageDataset::prepare(const torch::Tensor& inputs) const {
  torch::Tensor images = parts_.normalisation(inputs);
  if (!parts_.side) return images;
  namespace functional = torch::nn::functional;
  return functional::interpolate(images, functional::InterpolateFuncOptions()
                                             .size(std::vector<std::int64_t>{*parts_.side, *parts_.side})
                                             .mode(torch::kBilinear)
                                             .align_corners(false));
}

}  // namespace thinpipe::trainer

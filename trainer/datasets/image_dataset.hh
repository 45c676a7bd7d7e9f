// SPDX-License-Identifier: Apache-2.0
// The common part of image data sets that come as files and have a published normalisation.
#pragma once

#include "trainer/datasets/dataset.hh"
#include "trainer/datasets/normalisation.hh"

namespace thinpipe::trainer {

// Throws Error naming `source` unless class c has counts[c] examples, for every c. labels: int64. The counts
// of a published set protect its labels like a checksum: a change of one label is noticed.
void check_class_counts(const torch::Tensor& labels, const std::vector<std::int64_t>& counts,
                        const std::string& source);

// Returns the examples for Files::outlined. Tensors of LibTorch's device "meta" have sizes and no content.
Examples outlined_images(std::int64_t count, std::int64_t channels, std::int64_t height, std::int64_t width);

class ImageDataset : public Dataset {
 public:
  struct Parts {
    Examples train;
    Examples test;
    std::int64_t classes = 0;
    Normalisation normalisation;
    Augmentation augmentation;
    std::optional<std::int64_t> side;  // scale images to this many pixels per side; nullopt: keep their size
  };

  explicit ImageDataset(Parts parts) : parts_(std::move(parts)) {}

  DataShape shape() const override;
  const Examples& train() const override { return parts_.train; }
  const Examples& test() const override { return parts_.test; }
  torch::Tensor prepare(const torch::Tensor& inputs) const override;
  Augmentation augmentation() const override { return parts_.augmentation; }

 private:
  Parts parts_;
};

}  // namespace thinpipe::trainer

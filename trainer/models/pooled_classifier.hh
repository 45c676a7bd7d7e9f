// SPDX-License-Identifier: Apache-2.0
// The form of torchvision's AlexNet and VGG: convolutions, the mean over a grid of positions, and linear layers, whose last
// one is number 6.
#pragma once

#include <utility>

#include "trainer/models/model.hh"

namespace thinpipe::trainer {

class PooledClassifier : public Model {
 public:
  // pooled_side: the grid has pooled_side² positions.
  PooledClassifier(torch::nn::Sequential features, std::int64_t pooled_side, torch::nn::Sequential classifier)
      : pooled_side_(pooled_side),
        features_(register_module("features", std::move(features))),
        classifier_(register_module("classifier", std::move(classifier))) {}

  torch::Tensor forward(const torch::Tensor& images) override {
    const torch::Tensor x = features_->forward(images);
    return classifier_->forward(torch::adaptive_avg_pool2d(x, {pooled_side_, pooled_side_}).flatten(1));
  }
  std::string head() const override { return "classifier.6"; }

 private:
  std::int64_t pooled_side_;
  torch::nn::Sequential features_;
  torch::nn::Sequential classifier_;
};

}  // namespace thinpipe::trainer

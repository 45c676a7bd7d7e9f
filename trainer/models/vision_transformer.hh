// SPDX-License-Identifier: Apache-2.0
// Vision transformers: encoder layers with pre-norm over an image's patches and a class token. Names, layers
// and initialisation are those of torchvision's VisionTransformer; GELU is exact. Dosovitskiy et al.: An
// Image is Worth 16x16 Words (2020).
#pragma once

#include "trainer/base/modules.hh"
#include "trainer/models/model.hh"

namespace thinpipe::trainer {

struct VisionTransformerSize {
  std::int64_t width = 768;  // units per token; the hidden layer of each layer's MLP has four times as many
  std::int64_t depth = 12;   // encoder layers
  std::int64_t heads = 12;
  std::int64_t patch = 16;  // side of a patch in pixels
  double dropout = 0;       // after the positions, each attention and each linear layer of an MLP
};

class VisionTransformer : public Model {
 public:
  VisionTransformer(const VisionTransformerSize& size, const DataShape& data);

  torch::Tensor forward(const torch::Tensor& images) override;
  std::string head() const override { return "heads.head"; }

 private:
  class Encoder;

  torch::Tensor class_token_;
  torch::nn::Conv2d conv_proj_;
  std::shared_ptr<Encoder> encoder_;
  torch::nn::Sequential heads_;
};

// Throws InputError at the model's place unless the data set has images that patches tile. Reads no options.
void expect_patches(const JsonObject& model, const DataShape& data, std::int64_t patch);

}  // namespace thinpipe::trainer

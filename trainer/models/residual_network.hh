// SPDX-License-Identifier: Apache-2.0
// Residual networks of basic or bottleneck blocks, with a stem for small images or for photographs.
// Parameters have the names of torchvision's ResNet. He, Zhang, Ren, Sun: Deep Residual Learning for Image
// Recognition (2015).
#pragma once

#include "common/support/options.hh"
#include "trainer/base/modules.hh"
#include "trainer/models/image_form.hh"
#include "trainer/models/layers/filtered_layers.hh"
#include "trainer/models/model.hh"

namespace thinpipe::trainer {

enum class ResidualBlock {
  basic,      // two 3x3 convolutions
  bottleneck  // 1x1, 3x3 with the stride ("version 1.5", as in torchvision), 1x1 to four times the channels
};

// How a block's input reaches an output of another size.
enum class Shortcut {
  projection,  // a 1x1 convolution and a normalisation: option B of the paper, as in torchvision
  padding      // every second position, and zeros for further channels: option A
};

struct ResidualNetworkSize {
  std::int64_t width = 64;  // channels of the first stage; each further stage has twice as many
  std::vector<std::int64_t> blocks_per_stage;  // each stage after the first halves the image's sides
  ResidualBlock block = ResidualBlock::basic;
  // imagenet: 7x7 convolution of stride 2 and max-pooling; cifar: 3x3 convolution, no pooling.
  ImageForm stem = ImageForm::cifar;
  Shortcut shortcut = Shortcut::projection;
};

class ResidualNetwork : public Model {
 public:
  ResidualNetwork(const ResidualNetworkSize& size, const DataShape& data);

  torch::Tensor forward(const torch::Tensor& images) override;
  std::string head() const override { return "fc"; }

 private:
  ImageForm stem_;
  FilteredConv2d conv1_;
  torch::nn::BatchNorm2d bn1_;
  std::vector<torch::nn::Sequential> stages_;
  torch::nn::Linear fc_{nullptr};
};

struct TorchvisionResnetOptions {
  std::string form = "auto";

  void visit(auto& field) { field("form", form, image_form_rule()); }
};

// Makes a network of torchvision's; in the cifar form only the stem differs, section 4.2.
// object: TorchvisionResnetOptions. blocks_per_stage and block: table 1.
std::unique_ptr<Model> make_torchvision_resnet(std::vector<std::int64_t> blocks_per_stage,
                                               ResidualBlock block, JsonObject& object,
                                               const DataShape& data);

}  // namespace thinpipe::trainer

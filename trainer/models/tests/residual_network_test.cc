// SPDX-License-Identifier: Apache-2.0
#include "trainer/models/residual_network.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/models/tests/derivatives.hh"

namespace thinpipe::trainer {
namespace {

ResidualNetworkSize small(ResidualBlock block, ImageForm stem) {
  return {.width = 2, .blocks_per_stage = {1, 2}, .block = block, .stem = stem};
}

TEST(ResidualNetwork, OfBottlenecksHasFourTimesTheChannelsAndTheStrideInTheMiddle) {
  ResidualNetwork model(small(ResidualBlock::bottleneck, ImageForm::cifar), kCifar);
  EXPECT_THAT(parameters(model),
              ::testing::IsSupersetOf(
                  {"layer1.0.conv1.weight [2, 2, 1, 1]", "layer1.0.conv3.weight [8, 2, 1, 1]",
                   "layer1.0.downsample.0.weight [8, 2, 1, 1]", "layer2.0.conv2.weight [4, 4, 3, 3]",
                   "layer2.0.downsample.0.weight [16, 8, 1, 1]", "layer2.1.conv1.weight [4, 16, 1, 1]",
                   "fc.weight [10, 16]"}));
  EXPECT_EQ(model.named_parameters().find("layer2.1.downsample.0.weight"), nullptr);
  std::vector<std::string> strided;
  for (const auto& module : model.named_modules("", false)) {
    const auto* layer = module.value()->as<torch::nn::Conv2d>();
    if (layer != nullptr && layer->options.stride()->at(0) == 2) strided.push_back(module.key());
  }
  EXPECT_THAT(strided, ::testing::ElementsAre("layer2.0.conv2", "layer2.0.downsample.0"));
}

TEST(ResidualNetwork, HasASecondDerivative) {
  for (const ResidualBlock block : {ResidualBlock::basic, ResidualBlock::bottleneck}) {
    for (const ImageForm stem : {ImageForm::cifar, ImageForm::imagenet}) {
      torch::manual_seed(3);
      const DataShape data{.channels = 1, .height = 16, .width = 16, .classes = 3};
      ResidualNetwork model(small(block, stem), data);
      EXPECT_LT(second_derivative_error(model, data), 1e-6);
    }
  }
}

}  // namespace
}  // namespace thinpipe::trainer

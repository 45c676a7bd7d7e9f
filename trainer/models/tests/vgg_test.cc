// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/models/tests/derivatives.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;

TEST(Vgg19, BeginsAsTorchvisions) {
  torch::manual_seed(1);
  const auto model = make({{"name", "vgg19"}}, kCifar);
  const auto all = model->named_parameters();
  // He's deviation by outputs: sqrt(2 / (512 * 3 * 3)).
  EXPECT_NEAR(all["features.34.weight"].std().item<double>(), 0.020833, 1e-4);
  EXPECT_NEAR(all["classifier.6.weight"].std().item<double>(), 0.01, 5e-4);
  for (const auto& parameter : all) {
    if (parameter.key().ends_with("bias")) {
      EXPECT_EQ(parameter.value().count_nonzero().item<std::int64_t>(), 0) << parameter.key();
    }
  }
}

TEST(Vgg19, InCifarFormTrainsOnImagesOfAnySizeAndCanBeDifferentiatedTwice) {
  torch::manual_seed(1);
  const DataShape data{.channels = 2, .height = 9, .width = 5, .classes = 3};
  const auto model = make({{"name", "vgg19"}}, data);
  expect_training(*model, data);
  expect_second_derivative(*model, data);
}

// At 32x32 pixels a single position is left, so that the mean over positions is that position.
TEST(Vgg19, InCifarFormTakesTheMeanOverPositions) {
  torch::manual_seed(1);
  const DataShape wide{.channels = 1, .height = 32, .width = 64, .classes = 3};
  const auto model = make({{"name", "vgg19"}, {"form", "cifar"}}, wide);
  torch::Tensor features;
  for (const auto& child : model->named_children()) {
    if (child.key() != "features") continue;
    features = child.value()->as<torch::nn::Sequential>()->forward(torch::ones({1, 1, 32, 64}));
  }
  ASSERT_EQ(features.sizes(), (std::vector<std::int64_t>{1, 512, 1, 2}));
  const auto all = model->named_parameters();
  const torch::Tensor expected = features.mean({2, 3}).matmul(all["classifier.6.weight"].t());
  EXPECT_TRUE(model->forward(torch::ones({1, 1, 32, 64})).allclose(expected, 1e-4, 1e-6));
}

TEST(Vgg19, SaysThatImagesAreTooSmallForTheImagenetForm) {
  EXPECT_THAT(
      refusal({{"name", "vgg19"}, {"form", "imagenet"}}, kFashion),
      HasSubstr("/model/form: the imagenet form halves an image's sides five times and needs at least 32 "
                "pixels, but the data set's images are 28 x 28; the form cifar takes any size"));
  EXPECT_THAT(refusal({{"name", "vgg19"}, {"form", "imagnet"}}, kCifar), HasSubstr("/model/form"));
  EXPECT_THAT(refusal({{"name", "vgg19"}, {"dropout", 1}}, kCifar),
              HasSubstr("/model/dropout: must be at least 0 and below 1"));
}

}  // namespace
}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// Models with the parameter counts of papers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/models/tests/derivatives.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// He et al. print 0.27, 0.46 and 0.85 million: without shortcuts' parameters, this is each network's exact count.
TEST(CifarResnets, HaveThePapersCounts) {
  EXPECT_EQ(count(*make({{"name", "resnet20"}}, kCifar)), 269'722);
  EXPECT_EQ(count(*make({{"name", "resnet32"}}, kCifar)), 464'154);
  EXPECT_EQ(count(*make({{"name", "resnet56"}}, kCifar)), 853'018);
}

TEST(CifarResnets, PassOnEverySecondPositionAndZerosForNewChannels) {
  torch::manual_seed(1);
  const auto model = make({{"name", "resnet20"}}, kCifar);
  model->eval();
  for (auto& parameter : model->named_parameters()) {
    const torch::NoGradGuard no_grad;
    // Without its own part, a block passes its input on.
    if (parameter.key().find(".bn2.") != std::string::npos) parameter.value().zero_();
    if (parameter.key() == "fc.bias") parameter.value().zero_();
  }
  const torch::NoGradGuard no_grad;
  const torch::Tensor images = random_inputs(2, kCifar);
  const auto all = model->named_parameters();
  const torch::Tensor stem =
      torch::relu(torch::conv2d(images, all["conv1.weight"], {}, 1, 1) / std::sqrt(1 + 1e-5));
  const torch::Tensor fourth = stem.slice(2, 0, 32, 4).slice(3, 0, 32, 4).mean({2, 3});
  const torch::Tensor expected = fourth.matmul(all["fc.weight"].narrow(1, 0, 16).t());
  EXPECT_TRUE(model->forward(images).allclose(expected, 1e-4, 1e-5));
}

// Huang et al. print 1.0 million for 40 layers with growth rate 12.
TEST(Densenet40, HasThePapersCountAndTorchvisionsNames) {
  const auto model = make({{"name", "densenet40_k12"}}, kCifar);
  EXPECT_EQ(count(*model), 1'019'722);
  std::vector<std::string> lines = parameters(*model);
  lines.resize(4);
  EXPECT_THAT(lines, ElementsAre("features.conv0.weight [16, 3, 3, 3]",
                                 "features.denseblock1.denselayer1.norm1.weight [16]",
                                 "features.denseblock1.denselayer1.norm1.bias [16]",
                                 "features.denseblock1.denselayer1.conv1.weight [12, 16, 3, 3]"));
}

TEST(Densenet40, SaysThatImagesAreTooSmall) {
  EXPECT_THAT(refusal({{"name", "densenet40_k12"}}, {.channels = 1, .height = 8, .width = 3, .classes = 2}),
              HasSubstr("/model: densenet40_k12 halves an image's sides twice and needs at least 4 pixels"));
}

// 61,706: LeCun's network with every channel connected. 431,080: Caffe's example.
TEST(Lenet5, HasThePublishedCounts) {
  const DataShape digits{.channels = 1, .height = 32, .width = 32, .classes = 10};
  EXPECT_EQ(count(*make({{"name", "lenet5"}}, digits)), 61'706);
  EXPECT_EQ(count(*make({{"name", "lenet5"}}, kFashion)), 61'706)
      << "images of 28 x 28 are padded to 32 x 32";
  EXPECT_EQ(count(*make({{"name", "lenet5"}, {"variant", "caffe"}}, kFashion)), 431'080);
}

TEST(Lenet5, TrainsAndCanBeDifferentiatedTwice) {
  for (const char* variant : {"1998", "caffe"}) {
    torch::manual_seed(1);
    const auto model = make({{"name", "lenet5"}, {"variant", variant}}, kFashion);
    expect_training(*model, kFashion);
    expect_second_derivative(*model, kFashion);
  }
}

TEST(Lenet5, SaysThatImagesAreTooSmall) {
  const DataShape small{.channels = 1, .height = 28, .width = 11, .classes = 2};
  EXPECT_THAT(
      refusal({{"name", "lenet5"}}, small),
      HasSubstr(
          "/model: lenet5 needs images of at least 12 pixels on each side, but the data set's are 28 x 11"));
  DataShape enough = small;
  enough.width = 12;
  EXPECT_EQ(refusal({{"name", "lenet5"}}, enough), "accepted");
}

TEST(Alexnet, InCifarFormTrainsOnImagesOfAnySizeAndCanBeDifferentiatedTwice) {
  torch::manual_seed(1);
  const DataShape data{.channels = 2, .height = 9, .width = 5, .classes = 3};
  const auto model = make({{"name", "alexnet"}}, data);
  expect_training(*model, data);
  expect_second_derivative(*model, data);
}

TEST(Alexnet, SaysThatImagesAreTooSmallForTheImagenetForm) {
  EXPECT_THAT(refusal({{"name", "alexnet"}, {"form", "imagenet"}}, kCifar),
              HasSubstr("/model/form: the imagenet form needs images of at least 63 pixels on each side"));
}

}  // namespace
}  // namespace thinpipe::trainer

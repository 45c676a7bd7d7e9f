// SPDX-License-Identifier: Apache-2.0
#include "trainer/models/model.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/models/tests/making.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Models, SmallCnnHasTheseParameters) {
  EXPECT_THAT(parameters(*make({{"name", "small_cnn"}})),
              ElementsAre("conv1.weight [8, 1, 3, 3]", "conv1.bias [8]", "conv2.weight [16, 8, 3, 3]",
                          "conv2.bias [16]", "fc1.weight [512, 784]", "fc1.bias [512]",
                          "fc2.weight [10, 512]", "fc2.bias [10]"));
  EXPECT_EQ(parameters(*make({{"name", "small_cnn"}, {"width", 2}, {"hidden", 5}}))[4],
            "fc1.weight [5, 196]");
}

TEST(Models, MlpHasALayerPerEntryOfHidden) {
  EXPECT_THAT(parameters(*make({{"name", "mlp"}, {"hidden", {5, 6}}})),
              ElementsAre("fc1.weight [5, 784]", "fc1.bias [5]", "fc2.weight [6, 5]", "fc2.bias [6]",
                          "fc3.weight [10, 6]", "fc3.bias [10]"));
  EXPECT_THAT(parameters(*make({{"name", "mlp"}, {"hidden", Json::array()}})),
              ElementsAre("fc1.weight [10, 784]", "fc1.bias [10]"));
}

TEST(Models, MlpAloneTakesVectors) {
  const DataShape vectors{.classes = 3, .features = 7};
  EXPECT_THAT(parameters(*make({{"name", "mlp"}, {"hidden", Json::array()}}, vectors)),
              ElementsAre("fc1.weight [3, 7]", "fc1.bias [3]"));
  EXPECT_EQ(make({{"name", "mlp"}}, vectors)->forward(torch::zeros({2, 7})).sizes(),
            (std::vector<std::int64_t>{2, 3}));
  EXPECT_THAT(refusal({{"name", "small_cnn"}}, vectors),
              HasSubstr("has vectors of 7 features; use the model mlp"));
  EXPECT_THAT(refusal({{"name", "vit_tiny"}}, vectors),
              HasSubstr("has vectors of 7 features; use the model mlp"));
  EXPECT_THAT(refusal({{"name", "gpt"}}, vectors), HasSubstr("each example of the data set has one label"));
}

TEST(Models, NoneReadsSequencesWithOneLabelEach) {
  const DataShape sequences{.classes = 3, .sequence_length = 8, .vocabulary = 100};
  for (const char* name : {"mlp", "small_cnn"}) {
    EXPECT_THAT(refusal({{"name", name}}, sequences),
                HasSubstr("has sequences of tokens with one label each"));
  }
  EXPECT_THAT(refusal({{"name", "gpt"}}, sequences), HasSubstr("each example of the data set has one label"));
}

TEST(Models, ResnetHasTorchvisionsNames) {
  EXPECT_THAT(
      parameters(*make({{"name", "resnet"}, {"stages", 2}}, kCifar)),
      ElementsAre(
          "conv1.weight [16, 3, 3, 3]", "bn1.weight [16]", "bn1.bias [16]",                              //
          "layer1.0.conv1.weight [16, 16, 3, 3]", "layer1.0.bn1.weight [16]", "layer1.0.bn1.bias [16]",  //
          "layer1.0.conv2.weight [16, 16, 3, 3]", "layer1.0.bn2.weight [16]", "layer1.0.bn2.bias [16]",  //
          "layer2.0.conv1.weight [32, 16, 3, 3]", "layer2.0.bn1.weight [32]", "layer2.0.bn1.bias [32]",  //
          "layer2.0.conv2.weight [32, 32, 3, 3]", "layer2.0.bn2.weight [32]", "layer2.0.bn2.bias [32]",  //
          "layer2.0.downsample.0.weight [32, 16, 1, 1]", "layer2.0.downsample.1.weight [32]",            //
          "layer2.0.downsample.1.bias [32]",                                                             //
          "fc.weight [10, 32]", "fc.bias [10]"));
  std::vector<std::string> buffers;
  for (const auto& buffer : make({{"name", "resnet"}, {"stages", 1}}, kCifar)->named_buffers()) {
    buffers.push_back(buffer.key());
  }
  EXPECT_THAT(buffers, ::testing::Contains("layer1.0.bn2.running_var"));
}

// Published sizes: 11173962 is ResNet-18 with the stem for CIFAR, 272474 is ResNet-20 with projections.
TEST(Models, ResnetsKnownMembersHaveTheirKnownSizes) {
  EXPECT_EQ(count(*make({{"name", "resnet"}, {"width", 64}, {"stages", 4}, {"blocks_per_stage", 2}}, kCifar)),
            11173962);
  EXPECT_EQ(count(*make({{"name", "resnet"}, {"width", 16}, {"stages", 3}, {"blocks_per_stage", 3}}, kCifar)),
            272474);
}

TEST(Models, ResnetTakesImagesOfAnySize) {
  const DataShape odd{.channels = 1, .height = 7, .width = 1, .classes = 2};
  EXPECT_EQ(make({{"name", "resnet"}}, odd)->forward(torch::zeros({3, 1, 7, 1})).size(1), 2);
}

TEST(Models, SayWhatIsWrongWithTheirInput) {
  EXPECT_THAT(
      refusal({{"name", "small_cnn"}}, {.channels = 1, .height = 30, .width = 28, .classes = 10}),
      HasSubstr(
          "experiment.json at /model: small_cnn takes images whose sides are multiples of 4, but the data "
          "set's are 30 x 28"));
  EXPECT_THAT(refusal({{"name", "small_cnm"}}), HasSubstr("did you mean \"small_cnn\"?"));
  EXPECT_THAT(refusal({{"name", "mlp"}, {"hidden", {5, 0}}}),
              HasSubstr("/model/hidden/1: must be at least 1"));
  EXPECT_THAT(refusal({{"name", "resnet"}, {"depth", 18}}), HasSubstr("unknown key \"depth\""));
}

}  // namespace
}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
#include "trainer/models/vision_transformer.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/models/tests/derivatives.hh"
#include "trainer/pruning/mask.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;

TEST(VisionTransformer, HasAPositionForTheClassTokenAndEachPatch) {
  const auto shape_of_positions = [](const Json& options, const DataShape& data) {
    return make(options, data)->named_parameters()["encoder.pos_embedding"].sizes().vec();
  };
  using Shape = std::vector<std::int64_t>;
  EXPECT_EQ(shape_of_positions({{"name", "vit_tiny"}}, kFashion), (Shape{1, 1 + 7 * 7, 64}));
  EXPECT_EQ(shape_of_positions({{"name", "vit_tiny"}, {"patch", 8}, {"width", 20}}, kCifar),
            (Shape{1, 1 + 4 * 4, 20}));
}

TEST(VisionTransformer, BeginsAsTorchvisions) {
  torch::manual_seed(1);
  const auto model = make({{"name", "vit_tiny"}, {"width", 256}, {"depth", 1}}, kCifar);
  const auto all = model->named_parameters();
  for (const char* name : {"class_token", "conv_proj.bias", "heads.head.weight", "heads.head.bias",
                           "encoder.layers.encoder_layer_0.self_attention.in_proj_bias",
                           "encoder.layers.encoder_layer_0.self_attention.out_proj.bias"}) {
    EXPECT_EQ(all[name].count_nonzero().item<std::int64_t>(), 0) << name;
  }
  const auto deviation = [&](const std::string& name) { return all[name].std().item<double>(); };
  EXPECT_NEAR(deviation("encoder.pos_embedding"), 0.02, 0.001);
  EXPECT_NEAR(deviation("conv_proj.weight"), 0.14434, 0.004);  // sqrt(1 / (3 * 4 * 4))
  // Xavier's uniform distribution: sqrt(2 / (inputs + outputs)).
  EXPECT_NEAR(deviation("encoder.layers.encoder_layer_0.mlp.0.weight"), 0.039528, 0.001);
  EXPECT_NEAR(deviation("encoder.layers.encoder_layer_0.self_attention.in_proj_weight"), 0.044194, 0.001);
  EXPECT_NEAR(deviation("encoder.layers.encoder_layer_0.mlp.0.bias"), 1e-6, 1e-7);
}

TEST(VisionTransformer, HasASecondDerivative) {
  torch::manual_seed(3);
  const DataShape data{.channels = 1, .height = 4, .width = 8, .classes = 3};
  const auto model = make({{"name", "vit_tiny"}, {"width", 8}, {"depth", 2}, {"heads", 2}}, data);
  EXPECT_LT(second_derivative_error(*model, data), 1e-6);
}

TEST(VisionTransformer, PrunesTheInputProjectionOfItsAttention) {
  const auto model = make({{"name", "vit_tiny"}, {"depth", 1}}, kFashion);
  std::vector<std::string> names;
  for (const auto& [name, weight] : prunable_weights(*model)) names.push_back(name);
  const std::string layer = "encoder.layers.encoder_layer_0.";
  EXPECT_THAT(names, ::testing::ElementsAre("conv_proj.weight", layer + "self_attention.in_proj_weight",
                                            layer + "self_attention.out_proj.weight", layer + "mlp.0.weight",
                                            layer + "mlp.3.weight", "heads.head.weight"));
}

TEST(VisionTransformer, DropsUnitsInTrainingOnly) {
  torch::manual_seed(1);
  const auto model = make({{"name", "vit_tiny"}, {"dropout", 0.5}}, kFashion);
  perturb(*model);
  const torch::NoGradGuard no_grad;
  const torch::Tensor images = random_inputs(2, kFashion);
  EXPECT_FALSE(model->forward(images).equal(model->forward(images)));
  torch::manual_seed(5);
  const torch::Tensor first = model->forward(images);
  torch::manual_seed(5);
  EXPECT_TRUE(model->forward(images).equal(first));
  model->eval();
  EXPECT_TRUE(model->forward(images).equal(model->forward(images)));
}

TEST(VisionTransformer, SaysWhatIsWrongWithItsInput) {
  const DataShape odd{.channels = 1, .height = 30, .width = 28, .classes = 10};
  EXPECT_THAT(
      refusal({{"name", "vit_tiny"}}, odd),
      HasSubstr("/model: takes images whose sides are multiples of its patch size, 4 pixels, but the data "
                "set's are 30 x 28; the models resnet and resnet18 take any size"));
  EXPECT_THAT(refusal({{"name", "vit_b_16"}, {"form", "imagenet"}}, kFashion),
              HasSubstr("patch size, 16 pixels"));
  EXPECT_THAT(refusal({{"name", "vit_tiny"}, {"heads", 7}}),
              HasSubstr("/model/heads: must divide the width, but 64 is not a multiple of 7"));
}

}  // namespace
}  // namespace thinpipe::trainer

#include "trainer/models/model.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Place place{"experiment.json", "/model"};
const DataShape fashion{.channels = 1, .height = 28, .width = 28, .classes = 10};
const DataShape cifar{.channels = 3, .height = 32, .width = 32, .classes = 10};

std::unique_ptr<Model> make(const Json& options, const DataShape& data = fashion) {
  return ModelRegistry::instance().make(options, place, data);
}

std::string refusal(const Json& options, const DataShape& data = fashion) {
  try {
    make(options, data);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

// "conv1.weight [8, 1, 3, 3]", in order.
std::vector<std::string> parameters(const Model& model) {
  std::vector<std::string> out;
  for (const auto& parameter : model.named_parameters()) {
    std::string shape;
    for (const std::int64_t size : parameter.value().sizes())
      shape += (shape.empty() ? "" : ", ") + std::to_string(size);
    out.push_back(parameter.key() + " [" + shape + "]");
  }
  return out;
}

std::int64_t count(const Model& model) {
  std::int64_t out = 0;
  for (const torch::Tensor& parameter : model.parameters()) out += parameter.numel();
  return out;
}

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

TEST(Models, ResnetHasTorchvisionsNames) {
  EXPECT_THAT(
      parameters(*make({{"name", "resnet"}, {"stages", 2}}, cifar)),
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
  for (const auto& buffer : make({{"name", "resnet"}, {"stages", 1}}, cifar)->named_buffers()) {
    buffers.push_back(buffer.key());
  }
  EXPECT_THAT(buffers, ::testing::Contains("layer1.0.bn2.running_var"));
}

// Counts of the known networks: 11173962 is ResNet-18 with the stem for CIFAR, 272474 ResNet-20 with
// projections.
TEST(Models, ResnetsKnownMembersHaveTheirKnownSizes) {
  EXPECT_EQ(count(*make({{"name", "resnet"}, {"width", 64}, {"stages", 4}, {"blocks_per_stage", 2}}, cifar)),
            11173962);
  EXPECT_EQ(count(*make({{"name", "resnet"}, {"width", 16}, {"stages", 3}, {"blocks_per_stage", 3}}, cifar)),
            272474);
}

TEST(Models, EveryModelMapsImagesToLogitsAndTrainsEveryParameter) {
  for (const auto& [name, entry] : ModelRegistry::instance().entries()) {
    for (const DataShape& data :
         {fashion, cifar, DataShape{.channels = 2, .height = 4, .width = 8, .classes = 3}}) {
      SCOPED_TRACE(name);
      torch::manual_seed(1);
      const auto model = make({{"name", name}}, data);
      const torch::Tensor images = torch::randn({5, data.channels, data.height, data.width});
      const torch::Tensor logits = model->forward(images);
      EXPECT_EQ(logits.sizes(), (std::vector<std::int64_t>{5, data.classes}));
      torch::nn::functional::cross_entropy(logits, torch::arange(5).remainder(data.classes)).backward();
      for (const auto& parameter : model->named_parameters()) {
        ASSERT_TRUE(parameter.value().grad().defined()) << parameter.key();
        EXPECT_TRUE(parameter.value().grad().isfinite().all().item<bool>()) << parameter.key();
      }
    }
  }
}

TEST(Models, TheSameSeedGivesTheSameWeights) {
  for (const auto& [name, entry] : ModelRegistry::instance().entries()) {
    torch::manual_seed(7);
    const auto first = make({{"name", name}});
    const auto other = make({{"name", name}});
    torch::manual_seed(7);
    const auto again = make({{"name", name}});
    EXPECT_TRUE(first->parameters()[0].equal(again->parameters()[0])) << name;
    EXPECT_FALSE(first->parameters()[0].equal(other->parameters()[0])) << name;
  }
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

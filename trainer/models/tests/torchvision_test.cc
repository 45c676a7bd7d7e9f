// SPDX-License-Identifier: Apache-2.0
// Compares models that have torchvision's names with the lists that list_torchvision.py
// made from torchvision.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/paths.hh"
#include "trainer/models/image_form.hh"
#include "trainer/models/tests/making.hh"

namespace thinpipe::trainer {
namespace {

struct List {
  std::vector<std::string> parameters;
  std::vector<std::string> buffers;
};

List read_list(const std::string& model) {
  const std::filesystem::path path =
      std::filesystem::path(source_path("trainer/models/tests/torchvision")) / (model + ".txt");
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  List list;
  std::string line;
  while (std::getline(file, line) && !line.empty()) list.parameters.push_back(line);
  while (std::getline(file, line)) list.buffers.push_back(line);
  return list;
}

std::vector<std::string> names(std::vector<std::string> lines) {
  for (std::string& line : lines) line.resize(line.find(' '));
  return lines;
}

struct Case {
  const char* name;
  std::int64_t side;        // of the images: small if the weights do not depend on it
  std::int64_t parameters;  // for 10 classes
  std::set<double> dropouts;
};

class TorchvisionModel : public ::testing::TestWithParam<Case> {};

TEST_P(TorchvisionModel, InImagenetFormHasTorchvisionsParametersAndBuffers) {
  const auto& [name, side, expected_parameters, expected_dropouts] = GetParam();
  const DataShape data{.channels = 3, .height = side, .width = side, .classes = 1000};
  const auto model = make({{"name", name}, {"form", "imagenet"}}, data);
  const List list = read_list(name);
  ASSERT_FALSE(list.parameters.empty());
  EXPECT_EQ(parameters(*model), list.parameters);
  EXPECT_EQ(describe(model->named_buffers()), list.buffers);

  const auto all = model->named_parameters();
  const std::int64_t row_of_head = all[model->head() + ".weight"].size(1) + 1;
  EXPECT_EQ(count(*model) - 990 * row_of_head, expected_parameters);
  const std::vector<double> probabilities = dropouts(*model);
  EXPECT_EQ(std::set<double>(probabilities.begin(), probabilities.end()), expected_dropouts);

  model->eval();
  const torch::NoGradGuard no_grad;
  const torch::Tensor logits = model->forward(random_inputs(1, data));
  EXPECT_EQ(logits.sizes(), (std::vector<std::int64_t>{1, 1000}));
  EXPECT_TRUE(logits.isfinite().all().item<bool>());
}

INSTANTIATE_TEST_SUITE_P(
    Models, TorchvisionModel,
    ::testing::Values(Case{"alexnet", 63, 57044810, {0.5}}, Case{"vgg16", 32, 134301514, {0.5}},
                      Case{"vgg19", 32, 139611210, {0.5}}, Case{"resnet18", 32, 11181642, {}},
                      Case{"resnet50", 32, 23528522, {}}, Case{"resnet152", 32, 58164298, {}},
                      Case{"vit_b_16", 224, 85806346, {0}}),
    [](const auto& instance) { return std::string(instance.param.name); });

// Derived from torchvision's count: conv1 has 3x3 instead of 7x7 weights.
TEST(TorchvisionModels, Resnet18InCifarFormHasAllNames) {
  const auto model = make({{"name", "resnet18"}}, kCifar);
  const List list = read_list("resnet18");
  EXPECT_EQ(names(parameters(*model)), names(list.parameters));
  EXPECT_EQ(names(describe(model->named_buffers())), names(list.buffers));
  EXPECT_EQ(count(*model), 11181642 - 64 * 3 * (49 - 9));
}

// Derived from torchvision's count: the first convolution has 3x3 instead of 11x11 weights, two linear layers are
// missing, and the last has 256 inputs.
TEST(TorchvisionModels, AlexnetInCifarFormHasTheNamesButThoseOfTwoLinearLayers) {
  const auto model = make({{"name", "alexnet"}}, kCifar);
  std::vector<std::string> expected = names(read_list("alexnet").parameters);
  std::erase_if(expected, [](const std::string& parameter) {
    return parameter.starts_with("classifier.1.") || parameter.starts_with("classifier.4.");
  });
  EXPECT_EQ(names(parameters(*model)), expected);
  EXPECT_EQ(count(*model),
            57044810 - 64 * 3 * (121 - 9) - 4096 * (9216 + 1) - 4096 * (4096 + 1) - 10 * (4096 - 256));
}

// Derived from torchvision's count: without two linear layers, and with 512 inputs to the last.
TEST(TorchvisionModels, Vgg19InCifarFormHasTheNamesButThoseOfTwoLinearLayers) {
  const auto model = make({{"name", "vgg19"}}, kCifar);
  std::vector<std::string> expected = names(read_list("vgg19").parameters);
  std::erase_if(expected, [](const std::string& parameter) {
    return parameter.starts_with("classifier.0.") || parameter.starts_with("classifier.3.");
  });
  EXPECT_EQ(names(parameters(*model)), expected);
  EXPECT_EQ(count(*model), 139611210 - 4096 * (25088 + 1) - 4096 * (4096 + 1) - 10 * (4096 - 512));
  EXPECT_THAT(dropouts(*model), ::testing::ElementsAre(0));
}

TEST(ImageForms, AreImagenetFrom64PixelsOn) {
  const auto form = [](const std::string& asked, std::int64_t height, std::int64_t width) {
    return choose_image_form(asked, {.channels = 1, .height = height, .width = width, .classes = 2});
  };
  EXPECT_EQ(form("auto", 64, 64), ImageForm::imagenet);
  EXPECT_EQ(form("auto", 63, 64), ImageForm::cifar);
  EXPECT_EQ(form("auto", 64, 63), ImageForm::cifar);
  EXPECT_EQ(form("imagenet", 8, 8), ImageForm::imagenet);
  EXPECT_EQ(form("cifar", 224, 224), ImageForm::cifar);
}

}  // namespace
}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
#include "trainer/models/vgg.hh"

#include <algorithm>

#include <fmt/format.h>

#include "trainer/models/initialisation.hh"
#include "trainer/models/layers/dropout.hh"
#include "trainer/models/layers/filtered_layers.hh"
#include "trainer/models/pooled_classifier.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::array<std::int64_t, 5> kStageChannels = {64, 128, 256, 512, 512};
constexpr std::int64_t kChannels = kStageChannels.back();
constexpr std::int64_t kMinSide = 1 << kStageChannels.size();  // one pixel remains after five halvings
constexpr std::int64_t kPooledSide = 7;
constexpr std::int64_t kHidden = 4096;

torch::nn::ReLU relu_in_place() {
  return torch::nn::ReLU(torch::nn::ReLUOptions(true));
}

// Rounds up for small images of any size, so that a pixel remains; multiples of 32 need no rounding.
torch::nn::Sequential make_features(const VggConvolutions& convolutions, std::int64_t channels,
                                    ImageForm form) {
  torch::nn::Sequential features;
  for (std::size_t stage = 0; stage < convolutions.size(); ++stage) {
    for (std::int64_t i = 0; i < convolutions[stage]; ++i) {
      features->push_back(
          FilteredConv2d(torch::nn::Conv2dOptions(channels, kStageChannels[stage], 3).padding(1)));
      features->push_back(relu_in_place());
      channels = kStageChannels[stage];
    }
    features->push_back(
        torch::nn::MaxPool2d(torch::nn::MaxPool2dOptions(2).ceil_mode(form == ImageForm::cifar)));
  }
  return features;
}

torch::nn::Sequential make_classifier(ImageForm form, double dropout, std::int64_t classes) {
  torch::nn::Sequential classifier;
  if (form == ImageForm::cifar) {
    classifier->push_back("5", SeededDropout(dropout));
    classifier->push_back("6", torch::nn::Linear(kChannels, classes));
    return classifier;
  }
  for (const std::int64_t in : {kChannels * kPooledSide * kPooledSide, kHidden}) {
    classifier->push_back(FilteredLinear(in, kHidden));
    classifier->push_back(relu_in_place());
    classifier->push_back(SeededDropout(dropout));
  }
  classifier->push_back(torch::nn::Linear(kHidden, classes));
  return classifier;
}

// Draws torchvision's weights.
void initialise(Model& model) {
  initialise_convolutions(model);
  model.apply([](torch::nn::Module& module) {
    if (auto* layer = module.as<torch::nn::Linear>()) {
      torch::nn::init::normal_(layer->weight, 0, 0.01);
      torch::nn::init::zeros_(layer->bias);
    }
  });
}

}  // namespace

std::unique_ptr<Model> make_vgg(const VggConvolutions& convolutions, JsonObject& object,
                                const DataShape& data) {
  expect_images(object, data);
  const auto options = read_options<FormOptions>(object);
  const ImageForm form = choose_image_form(options.form, data);
  if (form == ImageForm::imagenet && std::min(data.height, data.width) < kMinSide) {
    throw InputError(
        object.place_of("form"),
        fmt::format("the imagenet form halves an image's sides five times and needs at least {} pixels, but "
                    "the data set's images are {} x {}; the form cifar takes any size",
                    kMinSide, data.height, data.width));
  }
  torch::nn::Sequential features = make_features(convolutions, data.channels, form);
  auto model =
      std::make_unique<PooledClassifier>(std::move(features), form == ImageForm::cifar ? 1 : kPooledSide,
                                         make_classifier(form, options.dropout_in(form), data.classes));
  initialise(*model);
  return model;
}

}  // namespace thinpipe::trainer

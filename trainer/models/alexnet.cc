// SPDX-License-Identifier: Apache-2.0
// AlexNet. The imagenet form is torchvision's alexnet. The cifar form has torchvision's names, but a first convolution of
// 3x3 without stride, max-pooling of 2x2, and one linear layer on the mean over positions in place of three.
// Krizhevsky: One weird trick for parallelizing convolutional neural networks (2014), as torchvision's.
#include <algorithm>

#include <fmt/format.h>

#include "trainer/models/form_options.hh"
#include "trainer/models/layers/dropout.hh"
#include "trainer/models/layers/filtered_layers.hh"
#include "trainer/models/pooled_classifier.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::int64_t kLastChannels = 256;
constexpr std::int64_t kPooledPositions = 6;
constexpr std::int64_t kHiddenUnits = 4096;
constexpr std::int64_t kSmallestImage = 63;  // of the imagenet form: one pixel remains

FilteredConv2d strided_convolution(std::int64_t in, std::int64_t out, std::int64_t kernel,
                                   std::int64_t stride, std::int64_t padding) {
  return FilteredConv2d(torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(padding));
}

// Rounds up for small images, so that a pixel remains.
torch::nn::MaxPool2d alexnet_pooling(ImageForm form) {
  if (form == ImageForm::imagenet) return torch::nn::MaxPool2d(torch::nn::MaxPool2dOptions(3).stride(2));
  return torch::nn::MaxPool2d(torch::nn::MaxPool2dOptions(2).ceil_mode(true));
}

torch::nn::Sequential make_alexnet_features(std::int64_t channels, ImageForm form) {
  return torch::nn::Sequential(
      form == ImageForm::imagenet ? strided_convolution(channels, 64, 11, 4, 2)
                                  : strided_convolution(channels, 64, 3, 1, 1),
      torch::nn::ReLU(), alexnet_pooling(form),                                         //
      strided_convolution(64, 192, 5, 1, 2), torch::nn::ReLU(), alexnet_pooling(form),  //
      strided_convolution(192, 384, 3, 1, 1), torch::nn::ReLU(),                        //
      strided_convolution(384, kLastChannels, 3, 1, 1), torch::nn::ReLU(),              //
      strided_convolution(kLastChannels, kLastChannels, 3, 1, 1), torch::nn::ReLU(), alexnet_pooling(form));
}

torch::nn::Sequential make_alexnet_classifier(ImageForm form, double dropout, std::int64_t classes) {
  torch::nn::Sequential classifier;
  if (form == ImageForm::cifar) {
    classifier->push_back("5", SeededDropout(dropout));
    classifier->push_back("6", torch::nn::Linear(kLastChannels, classes));
    return classifier;
  }
  for (const std::int64_t in : {kLastChannels * kPooledPositions * kPooledPositions, kHiddenUnits}) {
    classifier->push_back(SeededDropout(dropout));
    classifier->push_back(FilteredLinear(in, kHiddenUnits));
    classifier->push_back(torch::nn::ReLU());
  }
  classifier->push_back(torch::nn::Linear(kHiddenUnits, classes));
  return classifier;
}

std::unique_ptr<Model> make_alexnet(JsonObject& object, const DataShape& data) {
  expect_images(object, data);
  const auto options = read_options<FormOptions>(object);
  const ImageForm form = choose_image_form(options.form, data);
  if (form == ImageForm::imagenet && std::min(data.height, data.width) < kSmallestImage) {
    throw InputError(
        object.place_of("form"),
        fmt::format("the imagenet form needs images of at least {} pixels on each side, but the data "
                    "set's are {} x {}; the form cifar takes any size",
                    kSmallestImage, data.height, data.width));
  }
  torch::nn::Sequential features = make_alexnet_features(data.channels, form);
  return std::make_unique<PooledClassifier>(
      std::move(features), form == ImageForm::cifar ? 1 : kPooledPositions,
      make_alexnet_classifier(form, options.dropout_in(form), data.classes));
}

THINPIPE_REGISTER(Model){"alexnet", "AlexNet: torchvision's, or its form for small images",
                         describe_options<FormOptions>(), make_alexnet};

}  // namespace
}  // namespace thinpipe::trainer

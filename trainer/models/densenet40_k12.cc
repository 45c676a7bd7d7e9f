// SPDX-License-Identifier: Apache-2.0
// DenseNet with 40 layers and growth rate 12 for small images, without bottlenecks and compression. Modules have the names
// of torchvision's DenseNet. Huang, Liu, van der Maaten, Weinberger: Densely Connected Convolutional Networks (2016),
// section 3 and table 2.
#include <algorithm>

#include <fmt/format.h>

#include "common/support/options.hh"
#include "trainer/models/initialisation.hh"
#include "trainer/models/layers/filtered_layers.hh"
#include "trainer/models/model.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::int64_t kGrowth = 12;
constexpr std::int64_t kFirstChannels = 16;
constexpr int kBlocks = 3;
constexpr int kLayersPerBlock = 12;  // (40 - 4) / 3
constexpr std::int64_t kSmallestSide = 1 << (kBlocks - 1);

FilteredConv2d plain_convolution(std::int64_t in, std::int64_t out, std::int64_t kernel) {
  return FilteredConv2d(torch::nn::Conv2dOptions(in, out, kernel).padding(kernel / 2).bias(false));
}

// Appends new channels to those it gets.
class DenseLayerImpl : public torch::nn::Module {
 public:
  explicit DenseLayerImpl(std::int64_t in)
      : norm1_(register_module("norm1", torch::nn::BatchNorm2d(in))),
        conv1_(register_module("conv1", plain_convolution(in, kGrowth, 3))) {}

  torch::Tensor forward(const torch::Tensor& x) { return torch::cat({x, conv1_(torch::relu(norm1_(x)))}, 1); }

 private:
  torch::nn::BatchNorm2d norm1_;
  FilteredConv2d conv1_;
};
TORCH_MODULE(DenseLayer);

// Halves the sides.
class TransitionImpl : public torch::nn::Module {
 public:
  explicit TransitionImpl(std::int64_t channels)
      : norm_(register_module("norm", torch::nn::BatchNorm2d(channels))),
        conv_(register_module("conv", plain_convolution(channels, channels, 1))) {}

  torch::Tensor forward(const torch::Tensor& x) { return torch::avg_pool2d(conv_(torch::relu(norm_(x))), 2); }

 private:
  torch::nn::BatchNorm2d norm_;
  FilteredConv2d conv_;
};
TORCH_MODULE(Transition);

class DenseBlockImpl : public torch::nn::Module {
 public:
  explicit DenseBlockImpl(std::int64_t in) {
    for (int layer = 0; layer < kLayersPerBlock; ++layer) {
      layers_.push_back(
          register_module(fmt::format("denselayer{}", layer + 1), DenseLayer(in + layer * kGrowth)));
    }
  }

  torch::Tensor forward(torch::Tensor x) {
    for (DenseLayer& layer : layers_) x = layer(x);
    return x;
  }

 private:
  std::vector<DenseLayer> layers_;
};
TORCH_MODULE(DenseBlock);

class Densenet40 : public Model {
 public:
  explicit Densenet40(const DataShape& data) {
    std::int64_t channels = kFirstChannels;
    features_->push_back("conv0", plain_convolution(data.channels, channels, 3));
    for (int block = 1; block <= kBlocks; ++block) {
      features_->push_back(fmt::format("denseblock{}", block), DenseBlock(channels));
      channels += kLayersPerBlock * kGrowth;
      if (block < kBlocks) features_->push_back(fmt::format("transition{}", block), Transition(channels));
    }
    features_->push_back("norm5", torch::nn::BatchNorm2d(channels));
    register_module("features", features_);
    classifier_ = register_module("classifier", torch::nn::Linear(channels, data.classes));
    initialise_convolutions(*this);
    torch::nn::init::zeros_(classifier_->bias);
  }

  torch::Tensor forward(const torch::Tensor& images) override {
    return classifier_(torch::relu(features_->forward(images)).mean({2, 3}));
  }
  std::string head() const override { return "classifier"; }

 private:
  torch::nn::Sequential features_;
  torch::nn::Linear classifier_{nullptr};
};

struct Densenet40Options {
  void visit(auto& /*field*/) {}
};

std::unique_ptr<Model> make_densenet40(JsonObject& object, const DataShape& data) {
  expect_images(object, data);
  read_options<Densenet40Options>(object);
  if (std::min(data.height, data.width) < kSmallestSide) {
    throw InputError(
        object.place(),
        fmt::format("densenet40_k12 halves an image's sides twice and needs at least {} pixels, but the data "
                    "set's images are {} x {}; the models mlp and resnet take any size",
                    kSmallestSide, data.height, data.width));
  }
  return std::make_unique<Densenet40>(data);
}

THINPIPE_REGISTER(Model){"densenet40_k12", "DenseNet of 40 layers with growth rate 12, for small images",
                         describe_options<Densenet40Options>(), make_densenet40};

}  // namespace
}  // namespace thinpipe::trainer

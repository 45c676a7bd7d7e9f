// SPDX-License-Identifier: Apache-2.0
#include "trainer/models/residual_network.hh"

#include <fmt/format.h>

#include "trainer/models/initialisation.hh"

namespace thinpipe::trainer {
namespace {

// Has no bias, because a batch normalisation follows.
FilteredConv2d convolution(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride) {
  return FilteredConv2d(
      torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

class PaddingImpl : public torch::nn::Module {
 public:
  PaddingImpl(std::int64_t further_channels, std::int64_t stride)
      : further_channels_(further_channels), stride_(stride) {}

  torch::Tensor forward(const torch::Tensor& x) {
    using torch::indexing::Slice;
    const Slice positions(torch::indexing::None, torch::indexing::None, stride_);
    return torch::constant_pad_nd(x.index({Slice(), Slice(), positions, positions}),
                                  {0, 0, 0, 0, 0, further_channels_});
  }

 private:
  std::int64_t further_channels_;
  std::int64_t stride_;
};
TORCH_MODULE(Padding);

// Returns the shortcut that fits the input to the block's output; empty if none is needed.
torch::nn::Sequential make_shortcut(Shortcut kind, std::int64_t in, std::int64_t out, std::int64_t stride) {
  if (stride == 1 && in == out) return nullptr;
  if (kind == Shortcut::padding) return torch::nn::Sequential(Padding(out - in, stride));
  return torch::nn::Sequential(convolution(in, out, 1, stride), torch::nn::BatchNorm2d(out));
}

class BasicBlockImpl : public torch::nn::Module {
 public:
  static constexpr std::int64_t expansion = 1;

  BasicBlockImpl(Shortcut shortcut, std::int64_t in, std::int64_t width, std::int64_t stride)
      : conv1_(register_module("conv1", convolution(in, width, 3, stride))),
        bn1_(register_module("bn1", torch::nn::BatchNorm2d(width))),
        conv2_(register_module("conv2", convolution(width, width, 3, 1))),
        bn2_(register_module("bn2", torch::nn::BatchNorm2d(width))),
        downsample_(make_shortcut(shortcut, in, width, stride)) {
    if (downsample_) register_module("downsample", downsample_);
  }

  torch::Tensor forward(const torch::Tensor& x) {
    const torch::Tensor shortcut = downsample_ ? downsample_->forward(x) : x;
    return torch::relu(bn2_(conv2_(torch::relu(bn1_(conv1_(x))))) + shortcut);
  }

 private:
  FilteredConv2d conv1_;
  torch::nn::BatchNorm2d bn1_;
  FilteredConv2d conv2_;
  torch::nn::BatchNorm2d bn2_;
  torch::nn::Sequential downsample_;
};
TORCH_MODULE(BasicBlock);

class BottleneckImpl : public torch::nn::Module {
 public:
  static constexpr std::int64_t expansion = 4;

  BottleneckImpl(Shortcut shortcut, std::int64_t in, std::int64_t width, std::int64_t stride)
      : conv1_(register_module("conv1", convolution(in, width, 1, 1))),
        bn1_(register_module("bn1", torch::nn::BatchNorm2d(width))),
        conv2_(register_module("conv2", convolution(width, width, 3, stride))),
        bn2_(register_module("bn2", torch::nn::BatchNorm2d(width))),
        conv3_(register_module("conv3", convolution(width, expansion * width, 1, 1))),
        bn3_(register_module("bn3", torch::nn::BatchNorm2d(expansion * width))),
        downsample_(make_shortcut(shortcut, in, expansion * width, stride)) {
    if (downsample_) register_module("downsample", downsample_);
  }

  torch::Tensor forward(const torch::Tensor& x) {
    const torch::Tensor shortcut = downsample_ ? downsample_->forward(x) : x;
    const torch::Tensor inner = torch::relu(bn2_(conv2_(torch::relu(bn1_(conv1_(x))))));
    return torch::relu(bn3_(conv3_(inner)) + shortcut);
  }

 private:
  FilteredConv2d conv1_;
  torch::nn::BatchNorm2d bn1_;
  FilteredConv2d conv2_;
  torch::nn::BatchNorm2d bn2_;
  FilteredConv2d conv3_;
  torch::nn::BatchNorm2d bn3_;
  torch::nn::Sequential downsample_;
};
TORCH_MODULE(Bottleneck);

// Appends a block and returns its number of output channels.
template <class Block>
std::int64_t append(torch::nn::Sequential& stage, Shortcut shortcut, std::int64_t in, std::int64_t width,
                    std::int64_t stride) {
  stage->push_back(Block(shortcut, in, width, stride));
  return Block::Impl::expansion * width;
}

}  // namespace

ResidualNetwork::ResidualNetwork(const ResidualNetworkSize& size, const DataShape& data)
    : stem_(size.stem),
      conv1_(register_module("conv1", size.stem == ImageForm::cifar
                                          ? convolution(data.channels, size.width, 3, 1)
                                          : convolution(data.channels, size.width, 7, 2))),
      bn1_(register_module("bn1", torch::nn::BatchNorm2d(size.width))) {
  std::int64_t in = size.width;
  std::int64_t width = size.width;
  for (const std::int64_t blocks : size.blocks_per_stage) {
    torch::nn::Sequential stage;
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t stride = !stages_.empty() && block == 0 ? 2 : 1;
      in = size.block == ResidualBlock::basic ? append<BasicBlock>(stage, size.shortcut, in, width, stride)
                                              : append<Bottleneck>(stage, size.shortcut, in, width, stride);
    }
    stages_.push_back(register_module(fmt::format("layer{}", stages_.size() + 1), stage));
    width *= 2;
  }
  fc_ = register_module("fc", torch::nn::Linear(in, data.classes));
  initialise_convolutions(*this);
}

torch::Tensor ResidualNetwork::forward(const torch::Tensor& images) {
  torch::Tensor x = torch::relu(bn1_(conv1_(images)));
  if (stem_ == ImageForm::imagenet) x = torch::max_pool2d(x, 3, 2, 1);
  for (torch::nn::Sequential& stage : stages_) x = stage->forward(x);
  return fc_(x.mean({2, 3}));
}

std::unique_ptr<Model> make_torchvision_resnet(std::vector<std::int64_t> blocks_per_stage,
                                               ResidualBlock block, JsonObject& object,
                                               const DataShape& data) {
  expect_images(object, data);
  const auto options = read_options<TorchvisionResnetOptions>(object);
  return std::make_unique<ResidualNetwork>(
      ResidualNetworkSize{.blocks_per_stage = std::move(blocks_per_stage),
                          .block = block,
                          .stem = choose_image_form(options.form, data)},
      data);
}

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// LeNet-5, in two variants of different size:
//   1998    LeCun, Bottou, Bengio, Haffner: Gradient-Based Learning Applied to Document Recognition, figure 2, with tanh,
//           plain means as pooling, every channel connected to every other, and a linear last layer;
//   caffe   the network of that name in the library Caffe's example for MNIST, which papers on compression train.
#include <fmt/format.h>

#include "common/support/options.hh"
#include "trainer/models/layers/filtered_layers.hh"
#include "trainer/models/model.hh"

namespace thinpipe::trainer {
namespace {

struct Lenet5Options {
  std::string variant = "1998";

  void visit(auto& field) {
    field(
        "variant", variant,
        Rule{.effect = "1998: 6 and 16 channels, means and tanh; caffe: 20 and 50 channels, maxima and ReLU",
             .one_of = {"1998", "caffe"}});
  }
};

constexpr std::int64_t kKernel = 5;

struct Size {
  bool is_original = true;
  std::int64_t padding = 0;  // of the image
  std::int64_t first = 0;    // channels
  std::int64_t second = 0;
  std::vector<std::int64_t> hidden;
};

// The original's digits are 20 x 20 pixels in images of 32 x 32, and MNIST's in images of 28 x 28.
Size size_of(const Lenet5Options& options, const DataShape& data) {
  if (options.variant == "caffe") return {.is_original = false, .first = 20, .second = 50, .hidden = {500}};
  const bool is_small = data.height < 32 || data.width < 32;
  return {.padding = is_small ? 2 : 0, .first = 6, .second = 16, .hidden = {120, 84}};
}

// Returns a side's positions after both convolutions and poolings; 0 or less if none remain.
std::int64_t positions(std::int64_t side, std::int64_t padding) {
  return ((side + 2 * padding - kKernel + 1) / 2 - kKernel + 1) / 2;
}

class Lenet5 : public Model {
 public:
  Lenet5(const Size& size, const DataShape& data)
      : is_original_(size.is_original),
        conv1_(register_module(
            "conv1",
            FilteredConv2d(
                torch::nn::Conv2dOptions(data.channels, size.first, kKernel).padding(size.padding)))),
        conv2_(register_module("conv2",
                               FilteredConv2d(torch::nn::Conv2dOptions(size.first, size.second, kKernel)))) {
    std::int64_t in =
        size.second * positions(data.height, size.padding) * positions(data.width, size.padding);
    std::vector<std::int64_t> widths = size.hidden;
    widths.push_back(data.classes);
    for (const std::int64_t width : widths) {
      linear_.push_back(register_module(fmt::format("fc{}", linear_.size() + 1), FilteredLinear(in, width)));
      in = width;
    }
  }

  torch::Tensor forward(const torch::Tensor& images) override {
    torch::Tensor x = pool(conv2_(pool(conv1_(images)))).flatten(1);
    for (std::size_t i = 0; i + 1 < linear_.size(); ++i) x = activate(linear_[i](x));
    return linear_.back()(x);
  }
  std::string head() const override { return fmt::format("fc{}", linear_.size()); }

 private:
  // Caffe's example has no activation after its convolutions.
  torch::Tensor pool(const torch::Tensor& x) const {
    return is_original_ ? torch::avg_pool2d(torch::tanh(x), 2) : torch::max_pool2d(x, 2);
  }
  torch::Tensor activate(const torch::Tensor& x) const {
    return is_original_ ? torch::tanh(x) : torch::relu(x);
  }

  bool is_original_;
  FilteredConv2d conv1_;
  FilteredConv2d conv2_;
  std::vector<FilteredLinear> linear_;
};

std::unique_ptr<Model> make_lenet5(JsonObject& object, const DataShape& data) {
  expect_images(object, data);
  const Size size = size_of(read_options<Lenet5Options>(object), data);
  if (positions(data.height, size.padding) < 1 || positions(data.width, size.padding) < 1) {
    throw InputError(
        object.place(),
        fmt::format("lenet5 needs images of at least {} pixels on each side, but the data set's are "
                    "{} x {}; the models mlp and resnet take any size",
                    4 * kKernel - 4 - 2 * size.padding, data.height, data.width));
  }
  return std::make_unique<Lenet5>(size, data);
}

THINPIPE_REGISTER(Model){"lenet5", "LeNet-5: LeCun's, or the one of Caffe's example",
                         describe_options<Lenet5Options>(), make_lenet5};

}  // namespace
}  // namespace thinpipe::trainer

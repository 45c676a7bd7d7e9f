// SPDX-License-Identifier: Apache-2.0
// Two convolutions and two linear layers: a few hundred thousand weights, for a machine without a GPU.
#include <fmt/format.h>

#include "common/support/options.hh"
#include "trainer/models/layers/filtered_layers.hh"
#include "trainer/models/model.hh"

namespace thinpipe::trainer {
namespace {

struct SmallCnnOptions {
  std::int64_t width = 8;
  std::int64_t hidden = 512;

  void visit(auto& field) {
    field("width", width,
          Rule{.effect = "channels of the first convolution; the second has twice as many",
               .at_least = 1,
               .at_most = 1024});
    field("hidden", hidden,
          Rule{.effect = "units between the two linear layers", .at_least = 1, .at_most = 65536});
  }
};

class SmallCnn : public Model {
 public:
  SmallCnn(const SmallCnnOptions& options, const DataShape& data)
      : conv1_(register_module("conv1", convolution(data.channels, options.width))),
        conv2_(register_module("conv2", convolution(options.width, 2 * options.width))),
        fc1_(register_module(
            "fc1", FilteredLinear(2 * options.width * (data.height / 4) * (data.width / 4), options.hidden))),
        fc2_(register_module("fc2", torch::nn::Linear(options.hidden, data.classes))) {}

  torch::Tensor forward(const torch::Tensor& images) override {
    // ReLU after max-pooling gives the same values with a quarter of the work.
    torch::Tensor x = torch::relu(torch::max_pool2d(conv1_(images), 2));
    x = torch::relu(torch::max_pool2d(conv2_(x), 2));
    return fc2_(torch::relu(fc1_(x.flatten(1))));
  }
  std::string head() const override { return "fc2"; }

 private:
  static FilteredConv2d convolution(std::int64_t in, std::int64_t out) {
    return FilteredConv2d(torch::nn::Conv2dOptions(in, out, 3).padding(1));
  }

  FilteredConv2d conv1_;
  FilteredConv2d conv2_;
  FilteredLinear fc1_;
  torch::nn::Linear fc2_;
};

std::unique_ptr<Model> make_small_cnn(JsonObject& object, const DataShape& data) {
  expect_images(object, data);
  const auto options = read_options<SmallCnnOptions>(object);
  if (data.height < 4 || data.width < 4 || data.height % 4 != 0 || data.width % 4 != 0) {
    throw InputError(object.place(),
                     fmt::format("small_cnn takes images whose sides are multiples of 4, but the data set's "
                                 "are {} x {}; the models mlp and resnet take any size",
                                 data.height, data.width));
  }
  return std::make_unique<SmallCnn>(options, data);
}

THINPIPE_REGISTER(Model){"small_cnn", "two 3x3 convolutions with max-pooling, two linear layers",
                         describe_options<SmallCnnOptions>(), make_small_cnn};

}  // namespace
}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// ResNet-20, -32 and -56 for small images: three stages of 16, 32 and 64 channels, and shortcuts without parameters.
// He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition (2015), section 4.2 and table 6.
#include "trainer/models/residual_network.hh"

namespace thinpipe::trainer {
namespace {

struct NoOptions {
  void visit(auto& /*field*/) {}
};

// depth: 6 blocks_per_stage + 2.
template <std::int64_t depth>
std::unique_ptr<Model> make_cifar_resnet(JsonObject& object, const DataShape& data) {
  expect_images(object, data);
  read_options<NoOptions>(object);
  constexpr std::int64_t blocks = (depth - 2) / 6;
  return std::make_unique<ResidualNetwork>(
      ResidualNetworkSize{
          .width = 16, .blocks_per_stage = {blocks, blocks, blocks}, .shortcut = Shortcut::padding},
      data);
}

THINPIPE_REGISTER(Model){"resnet20", "ResNet-20 of the paper's section on CIFAR-10",
                         describe_options<NoOptions>(), make_cifar_resnet<20>};
THINPIPE_REGISTER(Model){"resnet32", "ResNet-32 of the paper's section on CIFAR-10",
                         describe_options<NoOptions>(), make_cifar_resnet<32>};
THINPIPE_REGISTER(Model){"resnet56", "ResNet-56 of the paper's section on CIFAR-10",
                         describe_options<NoOptions>(), make_cifar_resnet<56>};

}  // namespace
}  // namespace thinpipe::trainer

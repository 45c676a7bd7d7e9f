// SPDX-License-Identifier: Apache-2.0
// Residual networks of basic blocks with the stem for small images, of any width and depth. Members with
// names of their own:
//   width 16, stages 3, blocks_per_stage 3    ResNet-20
//   width 64, stages 4, blocks_per_stage 2    ResNet-18 for CIFAR
#include "common/support/options.hh"
#include "trainer/models/residual_network.hh"

namespace thinpipe::trainer {
namespace {

struct ResnetOptions {
  std::int64_t width = 16;
  std::int64_t stages = 3;
  std::int64_t blocks_per_stage = 1;

  void visit(auto& field) {
    field("width", width,
          Rule{.effect = "channels of the first stage; each further stage has twice as many",
               .at_least = 1,
               .at_most = 1024});
    field(
        "stages", stages,
        Rule{.effect = "stages; each after the first halves the image's sides", .at_least = 1, .at_most = 6});
    field("blocks_per_stage", blocks_per_stage,
          Rule{.effect = "residual blocks of two convolutions in each stage", .at_least = 1, .at_most = 100});
  }
};

ResidualNetworkSize size_of(const ResnetOptions& options) {
  const std::vector<std::int64_t> blocks(static_cast<std::size_t>(options.stages), options.blocks_per_stage);
  return {.width = options.width, .blocks_per_stage = blocks};
}

THINPIPE_REGISTER(Model){"resnet", "basic-block residual network for small images, with torchvision's names",
                         describe_options<ResnetOptions>(),
                         [](JsonObject& object, const DataShape& data) -> std::unique_ptr<Model> {
                           expect_images(object, data);
                           return std::make_unique<ResidualNetwork>(
                               size_of(read_options<ResnetOptions>(object)), data);
                         }};

}  // namespace
}  // namespace thinpipe::trainer

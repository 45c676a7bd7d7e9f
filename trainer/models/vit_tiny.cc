// SPDX-License-Identifier: Apache-2.0
// A vision transformer of any size, by default for a machine without a GPU.
#include "common/support/options.hh"
#include "trainer/models/layers/attention.hh"
#include "trainer/models/vision_transformer.hh"

namespace thinpipe::trainer {
namespace {

struct VitTinyOptions {
  VisionTransformerSize size{.width = 64, .depth = 4, .heads = 4, .patch = 4, .dropout = 0};

  void visit(auto& field) {
    field("width", size.width, Rule{.effect = "units per token", .at_least = 1, .at_most = 4096});
    field("depth", size.depth, Rule{.effect = "encoder layers", .at_least = 1, .at_most = 100});
    field("heads", size.heads,
          Rule{.effect = "attention heads; must divide width", .at_least = 1, .at_most = 256});
    field("patch", size.patch,
          Rule{.effect = "side of a patch in pixels; must divide the image's sides",
               .at_least = 2,
               .at_most = 256});
    field("dropout", size.dropout,
          Rule{.effect = "probability of dropping a unit after positions, attentions and linear layers",
               .at_least = 0,
               .below = 1});
  }
};

THINPIPE_REGISTER(Model){"vit_tiny", "small vision transformer, with torchvision's names",
                         describe_options<VitTinyOptions>(),
                         [](JsonObject& object, const DataShape& data) -> std::unique_ptr<Model> {
                           const VisionTransformerSize size = read_options<VitTinyOptions>(object).size;
                           expect_patches(object, data, size.patch);
                           expect_even_heads(object, size.width, size.heads);
                           return std::make_unique<VisionTransformer>(size, data);
                         }};

}  // namespace
}  // namespace thinpipe::trainer

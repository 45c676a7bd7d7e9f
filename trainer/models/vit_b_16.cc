// SPDX-License-Identifier: Apache-2.0
// ViT-B/16. The imagenet form is torchvision's vit_b_16, built for the size of the data set's
// images; published weights are for 224x224. The cifar form has patches of 4x4 pixels and thus
// another number of positions.
#include "common/support/options.hh"
#include "trainer/models/image_form.hh"
#include "trainer/models/vision_transformer.hh"

namespace thinpipe::trainer {
namespace {

struct VitB16Options {
  std::string form = "auto";
  double dropout = 0;

  void visit(auto& field) {
    field("form", form, image_form_rule());
    field("dropout", dropout,
          Rule{.effect = "probability of dropping a unit after positions, attentions and linear layers",
               .at_least = 0,
               .below = 1});
  }
};

THINPIPE_REGISTER(Model){
    "vit_b_16", "vision transformer of 12 layers: torchvision's, or with smaller patches for small images",
    describe_options<VitB16Options>(),
    [](JsonObject& object, const DataShape& data) -> std::unique_ptr<Model> {
      const auto options = read_options<VitB16Options>(object);
      VisionTransformerSize size{.dropout = options.dropout};
      if (choose_image_form(options.form, data) == ImageForm::cifar) size.patch = 4;
      expect_patches(object, data, size.patch);
      return std::make_unique<VisionTransformer>(size, data);
    }};

}  // namespace
}  // namespace thinpipe::trainer

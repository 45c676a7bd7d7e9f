// ResNet-152: He, Zhang, Ren, Sun (2015), table 1. The imagenet form is torchvision's resnet152; in the cifar
// form only the stem differs, section 4.2.
#include "common/support/options.hh"
#include "trainer/models/residual_network.hh"

namespace thinpipe::trainer {
namespace {

struct Resnet152Options {
  std::string form = "auto";

  void visit(auto& field) { field("form", form, image_form_rule()); }
};

THINPIPE_REGISTER(Model){"resnet152", "ResNet-152: torchvision's, or its form for small images",
                         describe_options<Resnet152Options>(),
                         [](JsonObject& object, const DataShape& data) -> std::unique_ptr<Model> {
                           expect_images(object, data);
                           const auto options = read_options<Resnet152Options>(object);
                           return std::make_unique<ResidualNetwork>(
                               ResidualNetworkSize{.blocks_per_stage = {3, 8, 36, 3},
                                                   .block = ResidualBlock::bottleneck,
                                                   .stem = choose_image_form(options.form, data)},
                               data);
                         }};

}  // namespace
}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// VGG-19: Simonyan, Zisserman (2014), table 1, E.
#include "trainer/models/vgg.hh"

namespace thinpipe::trainer {
namespace {

THINPIPE_REGISTER(Model){"vgg19",
                         "VGG-19 without batch normalisation: torchvision's, or its form for small images",
                         describe_options<FormOptions>(), [](JsonObject& object, const DataShape& data) {
                           return make_vgg({2, 2, 4, 4, 4}, object, data);
                         }};

}  // namespace
}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// VGG-16: Simonyan, Zisserman (2014), table 1, D.
#include "trainer/models/vgg.hh"

namespace thinpipe::trainer {
namespace {

THINPIPE_REGISTER(Model){"vgg16",
                         "VGG-16 without batch normalisation: torchvision's, or its form for small images",
                         describe_options<FormOptions>(), [](JsonObject& object, const DataShape& data) {
                           return make_vgg({2, 2, 3, 3, 3}, object, data);
                         }};

}  // namespace
}  // namespace thinpipe::trainer

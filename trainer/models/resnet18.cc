// SPDX-License-Identifier: Apache-2.0
// ResNet-18: He, Zhang, Ren, Sun (2015), table 1.
#include "trainer/models/residual_network.hh"

namespace thinpipe::trainer {
namespace {

THINPIPE_REGISTER(Model){"resnet18", "ResNet-18: torchvision's, or its form for small images",
                         describe_options<TorchvisionResnetOptions>(),
                         [](JsonObject& object, const DataShape& data) {
                           return make_torchvision_resnet({2, 2, 2, 2}, ResidualBlock::basic, object, data);
                         }};

}  // namespace
}  // namespace thinpipe::trainer

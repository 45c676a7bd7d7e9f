// SPDX-License-Identifier: Apache-2.0
// ResNet-50: He, Zhang, Ren, Sun (2015), table 1.
#include "trainer/models/residual_network.hh"

namespace thinpipe::trainer {
namespace {

THINPIPE_REGISTER(Model){
    "resnet50", "ResNet-50: torchvision's, or its form for small images",
    describe_options<TorchvisionResnetOptions>(), [](JsonObject& object, const DataShape& data) {
      return make_torchvision_resnet({3, 4, 6, 3}, ResidualBlock::bottleneck, object, data);
    }};

}  // namespace
}  // namespace thinpipe::trainer

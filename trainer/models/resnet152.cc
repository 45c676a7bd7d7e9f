// SPDX-License-Identifier: Apache-2.0
// ResNet-152: He, Zhang, Ren, Sun (2015), table 1.
#include "trainer/models/residual_network.hh"

namespace thinpipe::trainer {
namespace {

THINPIPE_REGISTER(Model){
    "resnet152", "ResNet-152: torchvision's, or its form for small images",
    describe_options<TorchvisionResnetOptions>(), [](JsonObject& object, const DataShape& data) {
      return make_torchvision_resnet({3, 8, 36, 3}, ResidualBlock::bottleneck, object, data);
    }};

}  // namespace
}  // namespace thinpipe::trainer

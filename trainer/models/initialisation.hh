// SPDX-License-Identifier: Apache-2.0
// Initial weights of convolutional networks.
#pragma once

#include "trainer/base/modules.hh"

namespace thinpipe::trainer {

// Initialises all convolutions like torchvision's ResNet and VGG: He's normal distribution by
// outputs, zero biases.
// He, Zhang, Ren, Sun: Delving Deep into Rectifiers (2015), section 2.2.
void initialise_convolutions(torch::nn::Module& model);

}  // namespace thinpipe::trainer

// How convolutional networks' weights begin.
#pragma once

#include "trainer/modules.hh"

namespace thinpipe::trainer {

// All convolutions as in torchvision's ResNet and VGG: He's normal distribution by outputs, biases zero.
// He, Zhang, Ren, Sun: Delving Deep into Rectifiers (2015), section 2.2.
void initialise_convolutions(torch::nn::Module& model);

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// VGG without batch normalisation. The imagenet form is torchvision's. The cifar form keeps the convolutions. It
// replaces the three linear layers, made for 7x7 positions, by one linear layer on the mean over positions (32x32
// pixels leave a single one), which keeps torchvision's name of the last layer, classifier.6.
// Simonyan, Zisserman: Very Deep Convolutional Networks for Large-Scale Image Recognition (2014), table 1.
#pragma once

#include <array>
#include <memory>

#include "trainer/models/form_options.hh"
#include "trainer/models/model.hh"

namespace thinpipe::trainer {

// The numbers of 3x3 convolutions before each of the five halvings.
using VggConvolutions = std::array<std::int64_t, 5>;

// object: FormOptions.
std::unique_ptr<Model> make_vgg(const VggConvolutions& convolutions, JsonObject& object,
                                const DataShape& data);

}  // namespace thinpipe::trainer

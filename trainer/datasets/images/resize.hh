// SPDX-License-Identifier: Apache-2.0
// Scales images to one size. All arithmetic on pixels is on integers, so that every machine gets the same.
#pragma once

#include "trainer/datasets/images/image.hh"

namespace thinpipe::trainer {

// Scales the image so that its shorter side has `shorter_side` pixels, then cuts the middle `side` x `side`
// pixels out, like torchvision's Resize and CenterCrop. Scaling is bilinear with antialiasing: each new pixel
// is the mean of the old ones around it, weighted by a triangle that is two new pixels wide (at least two old
// ones). `side` must be at most `shorter_side`.
// Returns the channels as planes, [channels, side, side], as models take them.
std::vector<std::uint8_t> resize_and_crop(const Image& image, std::int64_t shorter_side, std::int64_t side);

}  // namespace thinpipe::trainer

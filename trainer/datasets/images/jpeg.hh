// SPDX-License-Identifier: Apache-2.0
// JPEG, through libjpeg-turbo. Without LibTorch, so that it can be fuzzed.
#pragma once

#include <string_view>

#include "trainer/datasets/images/image.hh"

namespace thinpipe::trainer {

bool begins_as_jpeg(std::string_view file);

// Returns the image in red, green and blue. Grey is repeated in all three. CMYK is converted as r = c k / 255
// (likewise g and b) of the file's values, which Adobe's convention stores inverted. The orientation in EXIF
// is ignored, as PyTorch's data loaders do.
// Throws Error with the reason, but without the file's name, if the file is truncated, damaged or too large.
Image decode_jpeg(std::string_view file, const ImageLimits& limits = {});

}  // namespace thinpipe::trainer

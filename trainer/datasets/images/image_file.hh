// SPDX-License-Identifier: Apache-2.0
// Files of images in the formats that are read.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "trainer/datasets/images/image.hh"

namespace thinpipe::trainer {

enum class ImageKind {
  readable,  // JPEG or PNG
  foreign,   // an image of another format
  none,      // no image
};

// Judges a file by the ending of its name, in upper or lower case.
ImageKind image_kind(const std::filesystem::path& path);

// Returns the image in red, green and blue. The format is recognised by its first bytes, whatever the file's
// name. Throws Error with the reason.
Image decode_image(std::string_view file, const ImageLimits& limits = {});

// Returns the brightness, 0.299 red + 0.587 green + 0.114 blue (ITU-R BT.601), rounded.
Image to_grey(const Image& image);

}  // namespace thinpipe::trainer

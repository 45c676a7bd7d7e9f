// SPDX-License-Identifier: Apache-2.0
// A decoded image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace thinpipe::trainer {

struct Image {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::int64_t channels = 3;         // 3: red, green, blue; 1: grey
  std::vector<std::uint8_t> pixels;  // row by row, the channels of a pixel next to each other
};

// Decoders refuse larger images before they allocate memory for the pixels: a file of a few kilobytes may
// claim to be an image of gigabytes.
constexpr std::int64_t largest_image_pixels = 100'000'000;

struct ImageLimits {
  std::int64_t pixels = largest_image_pixels;
};

}  // namespace thinpipe::trainer

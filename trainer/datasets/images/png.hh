// SPDX-License-Identifier: Apache-2.0
// PNG, through libpng. Without LibTorch, so that it can be fuzzed.
#pragma once

#include <string_view>

#include "trainer/datasets/images/image.hh"

namespace thinpipe::trainer {

bool begins_as_png(std::string_view file);

// Returns the image in red, green and blue. Grey is repeated in all three, palettes are looked up, and of 16
// bits the upper 8 are kept. Transparency and gamma are ignored: a transparent pixel has its stored colour.
// Throws Error with the reason, but without the file's name, if the file is truncated, damaged or too large.
Image decode_png(std::string_view file, const ImageLimits& limits = {});

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
#include "common/support/fuzz/input.hh"
#include "trainer/datasets/images/image_file.hh"
#include "trainer/datasets/images/resize.hh"

using namespace thinpipe;

// Any file that a folder of images may contain.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const trainer::ImageLimits limits{.pixels = 1 << 18};
  return fuzz::expect_result_or_error([&] {
    const trainer::Image image = trainer::decode_image(fuzz::text(data, size), limits);
    fuzz::require(image.width > 0 && image.height > 0 && image.width * image.height <= limits.pixels,
                  "the image has a size within the limits");
    fuzz::require(std::ssize(image.pixels) == 3 * image.width * image.height, "each pixel has three bytes");
    fuzz::require(trainer::resize_and_crop(image, 8, 8).size() == 3 * 8 * 8, "the scaled image is complete");
    fuzz::require(trainer::resize_and_crop(trainer::to_grey(image), 16, 4).size() == 4 * 4,
                  "so is a grey one");
  });
}

// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/images/image_file.hh"

#include <algorithm>
#include <array>
#include <cctype>

#include "common/support/exception.hh"
#include "trainer/datasets/images/jpeg.hh"
#include "trainer/datasets/images/png.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::array<std::string_view, 3> readable_endings = {".jpg", ".jpeg", ".png"};
constexpr std::array<std::string_view, 11> foreign_endings = {
    ".avif", ".bmp", ".gif", ".heic", ".pbm", ".pgm", ".ppm", ".tif", ".tiff", ".webp", ".jp2"};

// The weights of red, green and blue, in units of 2^-16. Their sum is 1, so that grey stays as it is.
constexpr unsigned red = 19595;
constexpr unsigned green = 38470;
constexpr unsigned blue = 7471;
static_assert(red + green + blue == 65536);

}  // namespace

ImageKind image_kind(const std::filesystem::path& path) {
  std::string ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  if (std::ranges::find(readable_endings, ending) != readable_endings.end()) return ImageKind::readable;
  return std::ranges::find(foreign_endings, ending) != foreign_endings.end() ? ImageKind::foreign
                                                                             : ImageKind::none;
}

Image decode_image(std::string_view file, const ImageLimits& limits) {
  if (begins_as_jpeg(file)) return decode_jpeg(file, limits);
  if (begins_as_png(file)) return decode_png(file, limits);
  if (file.empty()) throw Error("the file is empty");
  throw Error("not an image: it begins neither as JPEG nor as PNG");
}

Image to_grey(const Image& image) {
  if (image.channels == 1) return image;
  Image grey{.width = image.width, .height = image.height, .channels = 1, .pixels = {}};
  grey.pixels.reserve(image.pixels.size() / 3);
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
    const unsigned sum =
        red * image.pixels[i] + green * image.pixels[i + 1] + blue * image.pixels[i + 2] + 32768;
    grey.pixels.push_back(static_cast<std::uint8_t>(sum >> 16U));
  }
  return grey;
}

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/images/image_file.hh"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "common/support/exception.hh"
#include "trainer/datasets/images/tests/image_bytes.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

std::string refusal(const std::string& file, const ImageLimits& limits = {}) {
  try {
    decode_image(file, limits);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

int largest_difference(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
  int largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST(Png, KeepsColours) {
  const std::vector<std::uint8_t> pixels = gradient(13, 7);
  const Image image = decode_image(encode_png(13, 7, pixels));
  EXPECT_EQ(image.width, 13);
  EXPECT_EQ(image.height, 7);
  EXPECT_EQ(image.channels, 3);
  EXPECT_THAT(image.pixels, ElementsAreArray(pixels));
  const PngForm interlaced{.width = 13, .height = 7, .interlaced = true};
  EXPECT_THAT(decode_image(encode_png(interlaced, {pixels.begin(), pixels.end()})).pixels,
              ElementsAreArray(pixels));
}

TEST(Png, GreyOfAnyDepthBecomesColour) {
  const auto decoded = [](int bit_depth, const std::string& row) {
    const PngForm form{.width = 2, .height = 1, .colour_type = PNG_COLOR_TYPE_GRAY, .bit_depth = bit_depth};
    return decode_image(encode_png(form, row)).pixels;
  };
  EXPECT_THAT(decoded(1, "\x40"), ElementsAre(0, 0, 0, 255, 255, 255));
  EXPECT_THAT(decoded(2, "\x60"), ElementsAre(85, 85, 85, 170, 170, 170));
  EXPECT_THAT(decoded(4, "\x1f"), ElementsAre(17, 17, 17, 255, 255, 255));
  EXPECT_THAT(decoded(8, "\x07\xc8"), ElementsAre(7, 7, 7, 200, 200, 200));
  // The upper byte, whatever the lower one.
  EXPECT_THAT(decoded(16, std::string("\x07\xff\xc8\x00", 4)), ElementsAre(7, 7, 7, 200, 200, 200));
}

TEST(Png, TransparencyIsIgnored) {
  const auto decoded = [](int colour_type, int bit_depth, const std::string& row) {
    const PngForm form{.width = 1, .height = 1, .colour_type = colour_type, .bit_depth = bit_depth};
    return decode_image(encode_png(form, row)).pixels;
  };
  EXPECT_THAT(decoded(PNG_COLOR_TYPE_RGB_ALPHA, 8, std::string("\x01\x02\x03\x00", 4)), ElementsAre(1, 2, 3));
  EXPECT_THAT(decoded(PNG_COLOR_TYPE_GRAY_ALPHA, 8, std::string("\x09\x80", 2)), ElementsAre(9, 9, 9));
  EXPECT_THAT(decoded(PNG_COLOR_TYPE_RGB_ALPHA, 16, std::string("\x01\xee\x02\xee\x03\xee\x00\x00", 8)),
              ElementsAre(1, 2, 3));
}

TEST(Png, PalettesAreLookedUp) {
  const PngForm form{.width = 4,
                     .height = 1,
                     .colour_type = PNG_COLOR_TYPE_PALETTE,
                     .bit_depth = 2,
                     .palette = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}};
  EXPECT_THAT(decode_image(encode_png(form, "\x24")).pixels, ElementsAre(1, 2, 3, 7, 8, 9, 4, 5, 6, 1, 2, 3));
}

TEST(Png, DamageIsRefused) {
  const std::string file = encode_png(16, 16, gradient(16, 16));
  EXPECT_THAT(refusal(file.substr(0, 20)), HasSubstr("truncated"));
  EXPECT_THAT(refusal(file.substr(0, file.size() / 2)), HasSubstr("truncated"));
  EXPECT_THAT(refusal(file.substr(0, file.size() - 5)), HasSubstr("truncated"));
  std::string damaged = file;
  damaged[file.find("IDAT") + 10] ^= 1;
  EXPECT_NE(refusal(damaged), "accepted");
}

TEST(Jpeg, KeepsColoursWithinItsPrecision) {
  const std::vector<std::uint8_t> pixels = gradient(40, 24);
  for (const bool progressive : {false, true}) {
    const Image image =
        decode_image(encode_jpeg({.width = 40, .height = 24, .progressive = progressive}, pixels));
    EXPECT_EQ(image.width, 40);
    EXPECT_EQ(image.height, 24);
    ASSERT_EQ(image.pixels.size(), pixels.size());
    EXPECT_LT(largest_difference(image.pixels, pixels), 12) << progressive;
  }
}

TEST(Jpeg, GreyAndCmykBecomeColour) {
  const JpegForm grey{.width = 8, .height = 8, .channels = 1, .colours = JCS_GRAYSCALE};
  const Image image = decode_image(encode_jpeg(grey, std::vector<std::uint8_t>(64, 77)));
  EXPECT_THAT(image.pixels, testing::AllOf(testing::SizeIs(3 * 64), testing::Each(77)));
  // Stored inverted: 255 is no ink.
  std::vector<std::uint8_t> ink;
  for (int i = 0; i < 64; ++i) ink.insert(ink.end(), {255, 0, 128, 200});
  const JpegForm cmyk{.width = 8, .height = 8, .channels = 4, .colours = JCS_CMYK, .quality = 100};
  const Image colours = decode_image(encode_jpeg(cmyk, ink));
  EXPECT_NEAR(colours.pixels[0], 200, 2);
  EXPECT_NEAR(colours.pixels[1], 0, 2);
  EXPECT_NEAR(colours.pixels[2], 100, 2);
}

TEST(Jpeg, DamageIsRefused) {
  for (const bool progressive : {false, true}) {
    const std::string file =
        encode_jpeg({.width = 64, .height = 64, .progressive = progressive}, gradient(64, 64));
    EXPECT_NE(refusal(file.substr(0, 30)), "accepted");
    EXPECT_THAT(refusal(file.substr(0, file.size() / 2)), HasSubstr("Premature end of JPEG file"));
    EXPECT_NE(refusal(file.substr(0, 4)), "accepted");
  }
}

TEST(Jpeg, ScansAreLimited) {
  // The first scan again and again: a few bytes of the file make the decoder pass over all pixels.
  const std::string file = encode_jpeg({.width = 16, .height = 16, .progressive = true}, gradient(16, 16));
  const std::size_t scan = file.find("\xff\xda");
  const std::size_t end = file.find("\xff\xc4", scan);
  std::string bomb = file.substr(0, end);
  for (int i = 0; i < 300; ++i) bomb += file.substr(scan, end - scan);
  EXPECT_THAT(refusal(bomb + file.substr(end)), HasSubstr("more than 200 scans"));
}

TEST(Images, AreNotLargerThanAllowed) {
  const ImageLimits limits{.pixels = 100};
  EXPECT_THAT(refusal(encode_png(11, 10, gradient(11, 10)), limits),
              HasSubstr("11 x 10 pixels, more than 100"));
  EXPECT_EQ(refusal(encode_png(10, 10, gradient(10, 10)), limits), "accepted");
  EXPECT_THAT(refusal(encode_jpeg({.width = 101, .height = 1}, gradient(101, 1)), limits),
              HasSubstr("101 x 1 pixels, more than 100"));
}

TEST(Png, DoesNotClaimMoreThanItsFileCanHold) {
  std::string file = encode_png(16, 16, gradient(16, 16));
  const std::size_t header = file.find("IHDR");
  file[header + 6] = 0x10;  // 4096 + 16 pixels wide and high
  file[header + 10] = 0x10;
  const auto checksum = crc32(0, reinterpret_cast<const Bytef*>(file.data() + header), 17);
  for (std::size_t i = 0; i < 4; ++i) file[header + 17 + i] = static_cast<char>(checksum >> (24 - 8 * i));
  EXPECT_THAT(refusal(file), HasSubstr("cannot hold 4112 x 4112 pixels"));
}

TEST(Images, OtherFilesAreRefused) {
  EXPECT_EQ(refusal(""), "the file is empty");
  EXPECT_THAT(refusal("GIF89a"), HasSubstr("not an image: it begins neither as JPEG nor as PNG"));
}

TEST(Images, KindsGoByTheEndingOfTheName) {
  for (const char* name : {"a.jpg", "b.JPEG", "c.Png"}) EXPECT_EQ(image_kind(name), ImageKind::readable);
  for (const char* name : {"a.webp", "b.BMP", "c.tif"}) EXPECT_EQ(image_kind(name), ImageKind::foreign);
  for (const char* name : {"a.txt", "png", "Thumbs.db"}) EXPECT_EQ(image_kind(name), ImageKind::none);
}

TEST(Images, GreyIsTheBrightness) {
  const Image image{
      .width = 4, .height = 1, .channels = 3, .pixels = {255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 9, 9}};
  EXPECT_THAT(to_grey(image).pixels, ElementsAre(76, 150, 29, 9));
  EXPECT_EQ(to_grey(image).channels, 1);
}

}  // namespace
}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/images/resize.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

Image grey(std::int64_t width, std::int64_t height, std::vector<std::uint8_t> pixels) {
  return {.width = width, .height = height, .channels = 1, .pixels = std::move(pixels)};
}

TEST(Resize, KeepsAnImageOfTheRightSizeAndSeparatesPlanes) {
  const Image image{
      .width = 2, .height = 2, .channels = 3, .pixels = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
  EXPECT_THAT(resize_and_crop(image, 2, 2), ElementsAre(1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12));
}

TEST(Resize, KeepsAConstant) {
  for (const std::int64_t side : {1, 3, 7, 20, 64}) {
    const Image white = grey(20, 31, std::vector<std::uint8_t>(20 * 31, 255));
    EXPECT_THAT(resize_and_crop(white, side, side),
                testing::AllOf(SizeIs(static_cast<std::size_t>(side * side)), Each(255)));
  }
}

// A row of four pixels becomes two. The triangle of a new pixel is 4 old ones wide: its weights are 1/4, 3/4,
// 3/4 and 1/4, of which the border cuts one 1/4 off.
TEST(Resize, WeighsOldPixelsByATriangle) {
  std::vector<std::uint8_t> pixels;
  for (int y = 0; y < 4; ++y) pixels.insert(pixels.end(), {0, 0, 0, 255});
  EXPECT_THAT(resize_and_crop(grey(4, 4, pixels), 2, 2), ElementsAre(0, 109, 0, 109));  // 255 * 3/7
}

TEST(Resize, InterpolatesWhenScalingUp) {
  EXPECT_THAT(resize_and_crop(grey(2, 2, {0, 200, 0, 200}), 4, 4),
              ElementsAre(0, 50, 150, 200, 0, 50, 150, 200, 0, 50, 150, 200, 0, 50, 150, 200));
}

TEST(Resize, CutsTheMiddle) {
  // 6 x 2: columns 2 and 3 are the middle.
  EXPECT_THAT(resize_and_crop(grey(6, 2, {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15}), 2, 2),
              ElementsAre(2, 3, 12, 13));
  EXPECT_THAT(resize_and_crop(grey(2, 6, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), 2, 2),
              ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(resize_and_crop(grey(3, 3, {0, 1, 2, 3, 4, 5, 6, 7, 8}), 3, 1), ElementsAre(4));
  // An odd rest: half of 1 is 0, half of 3 is 2.
  EXPECT_THAT(resize_and_crop(grey(2, 1, {7, 8}), 1, 1), ElementsAre(7));
  EXPECT_THAT(resize_and_crop(grey(4, 1, {5, 6, 7, 8}), 1, 1), ElementsAre(7));
}

TEST(Resize, OfThinImagesWorks) {
  std::vector<std::uint8_t> line(5000);
  for (std::size_t i = 0; i < line.size(); ++i) line[i] = static_cast<std::uint8_t>(i / 20);
  const auto middle = resize_and_crop(grey(5000, 1, line), 8, 8);
  EXPECT_THAT(middle, SizeIs(64));
  EXPECT_THAT(middle, Each(testing::AnyOf(124, 125)));
}

}  // namespace
}  // namespace thinpipe::trainer

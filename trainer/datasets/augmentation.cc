// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/augmentation.hh"

#include <algorithm>
#include <array>

#include "trainer/base/philox.hh"

namespace thinpipe::trainer {
namespace {

// Position of the crop in the padded image, and whether the crop is mirrored.
struct Cut {
  std::int64_t top = 0;
  std::int64_t left = 0;
  bool flip = false;
};

Cut draw_cut(const Augmentation& augmentation, const AugmentationDraw& draw, std::int64_t index) {
  std::array<std::uint32_t, 3> words{};
  fill_words({.seed = draw.seed,
              .step = static_cast<std::uint32_t>(draw.epoch),
              .bucket = static_cast<std::uint32_t>(Purpose::augmentation),
              .rank = static_cast<std::uint32_t>(index)},
             words);
  // 2p + 1 positions: multiplying 32 by 32 bits favours none of them by more than 2^-29.
  const auto offsets = static_cast<std::uint64_t>(2 * augmentation.crop_padding + 1);
  return {.top = static_cast<std::int64_t>(words[0] * offsets >> 32U),
          .left = static_cast<std::int64_t>(words[1] * offsets >> 32U),
          .flip = augmentation.flip && (words[2] >> 31U) != 0};
}

// Cuts one channel of `height` x `width` pixels; pixels outside the image are 0.
void cut_plane(const std::uint8_t* from, std::uint8_t* to, std::int64_t height, std::int64_t width,
               std::int64_t padding, const Cut& cut) {
  for (std::int64_t y = 0; y < height; ++y, to += width) {
    const std::int64_t source_y = y + cut.top - padding;
    std::fill_n(to, width, 0);
    if (source_y < 0 || source_y >= height) continue;
    const std::uint8_t* row = from + source_y * width;
    const std::int64_t first = cut.left - padding;  // the row's first pixel; may lie outside on either side
    const std::int64_t begin = std::max<std::int64_t>(0, -first);
    const std::int64_t end = std::min(width, width - first);
    if (begin < end) std::copy(row + first + begin, row + first + end, to + begin);
    if (cut.flip) std::reverse(to, to + width);
  }
}

}  // namespace

torch::Tensor augment(const torch::Tensor& images, const torch::Tensor& indices,
                      const Augmentation& augmentation, const AugmentationDraw& draw) {
  if (augmentation.is_none()) return images;
  const torch::Tensor source = images.contiguous();
  const torch::Tensor examples = indices.contiguous();
  torch::Tensor result = torch::empty_like(source);
  const std::int64_t channels = source.size(1);
  const std::int64_t height = source.size(2);
  const std::int64_t width = source.size(3);
  const std::int64_t plane = height * width;
  const auto* from = source.data_ptr<std::uint8_t>();
  auto* to = result.data_ptr<std::uint8_t>();
  for (std::int64_t i = 0; i < source.size(0); ++i) {
    const Cut cut = draw_cut(augmentation, draw, examples.data_ptr<std::int64_t>()[i]);
    for (std::int64_t c = 0; c < channels; ++c, from += plane, to += plane) {
      cut_plane(from, to, height, width, augmentation.crop_padding, cut);
    }
  }
  return result;
}

}  // namespace thinpipe::trainer

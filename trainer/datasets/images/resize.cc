// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/images/resize.hh"

#include <algorithm>
#include <cmath>

namespace thinpipe::trainer {
namespace {

// The weights of one new pixel add up to 2^weight_bits; 255 times that fits into 32 bits.
constexpr int weight_bits = 22;

// The old pixels first, first + 1, … with their weights, of which one new pixel is made.
struct Taps {
  std::int64_t first = 0;
  std::vector<std::int32_t> weights;
};

// One dimension of a scaled and cropped image.
struct Axis {
  std::int64_t old_size = 0;
  std::int64_t new_size = 0;    // before the crop
  std::int64_t crop_begin = 0;  // of `crop_size` pixels
  std::int64_t crop_size = 0;
};

Taps taps_at(const Axis& axis, std::int64_t pixel) {
  const double scale = static_cast<double>(axis.old_size) / static_cast<double>(axis.new_size);
  const double reach = std::max(scale, 1.0);
  const double centre = (static_cast<double>(pixel) + 0.5) * scale;
  Taps taps;
  taps.first = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(centre - reach + 0.5)));
  const auto end =
      std::min<std::int64_t>(axis.old_size, static_cast<std::int64_t>(std::floor(centre + reach + 0.5)));
  std::vector<double> triangle;
  double sum = 0;
  for (std::int64_t i = taps.first; i < end; ++i) {
    const double distance = std::abs(static_cast<double>(i) + 0.5 - centre) / reach;
    triangle.push_back(std::max(0.0, 1 - distance));
    sum += triangle.back();
  }
  for (const double weight : triangle) {
    taps.weights.push_back(static_cast<std::int32_t>(std::lround(std::ldexp(weight / sum, weight_bits))));
  }
  return taps;
}

std::vector<Taps> taps_of(const Axis& axis) {
  std::vector<Taps> taps;
  for (std::int64_t i = 0; i < axis.crop_size; ++i) taps.push_back(taps_at(axis, axis.crop_begin + i));
  return taps;
}

// Rounded weights may add up to slightly more than 1.
std::uint8_t to_pixel(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::min(sum >> weight_bits, 255));
}

// Returns where the middle `part` begins: half of the difference, rounded to even as in torchvision.
std::int64_t middle(std::int64_t whole, std::int64_t part) {
  const std::int64_t rest = whole - part;
  return rest / 2 + (rest % 4 == 3 ? 1 : 0);
}

// Returns rows begin..end-1 of the image, scaled and cropped in width; channels next to each other.
std::vector<std::uint8_t> scale_rows(const Image& image, const std::vector<Taps>& columns, std::int64_t begin,
                                     std::int64_t end) {
  const auto channels = static_cast<std::size_t>(image.channels);
  const std::size_t row_bytes = channels * static_cast<std::size_t>(image.width);
  std::vector<std::uint8_t> out;
  out.reserve(static_cast<std::size_t>(end - begin) * columns.size() * channels);
  for (std::int64_t y = begin; y < end; ++y) {
    const std::uint8_t* const row = image.pixels.data() + static_cast<std::size_t>(y) * row_bytes;
    for (const Taps& taps : columns) {
      for (std::size_t c = 0; c < channels; ++c) {
        const std::uint8_t* pixel = row + static_cast<std::size_t>(taps.first) * channels + c;
        std::int32_t sum = 1 << (weight_bits - 1);
        for (const std::int32_t weight : taps.weights) {
          sum += weight * *pixel;
          pixel += channels;
        }
        out.push_back(to_pixel(sum));
      }
    }
  }
  return out;
}

// Scales the result of scale_rows() in height and separates the channels into planes. Its first row is row `begin` of
// the image.
std::vector<std::uint8_t> scale_columns(const std::vector<std::uint8_t>& rows, std::int64_t begin,
                                        const std::vector<Taps>& taps_of_rows, std::size_t channels) {
  const std::size_t side = taps_of_rows.size();
  const std::size_t row_bytes = side * channels;
  std::vector<std::uint8_t> planes(side * row_bytes);
  std::vector<std::int32_t> sums(row_bytes);
  for (std::size_t y = 0; y < side; ++y) {
    std::ranges::fill(sums, 1 << (weight_bits - 1));
    const std::uint8_t* row =
        rows.data() + static_cast<std::size_t>(taps_of_rows[y].first - begin) * row_bytes;
    for (const std::int32_t weight : taps_of_rows[y].weights) {
      for (std::size_t i = 0; i < row_bytes; ++i) sums[i] += weight * row[i];
      row += row_bytes;
    }
    for (std::size_t x = 0; x < side; ++x) {
      for (std::size_t c = 0; c < channels; ++c)
        planes[(c * side + y) * side + x] = to_pixel(sums[x * channels + c]);
    }
  }
  return planes;
}

}  // namespace

std::vector<std::uint8_t> resize_and_crop(const Image& image, std::int64_t shorter_side, std::int64_t side) {
  const std::int64_t shorter = std::min(image.width, image.height);
  const auto scaled = [&](std::int64_t size) { return size * shorter_side / shorter; };
  const auto axis = [&](std::int64_t size) {
    const std::int64_t new_size = scaled(size);
    return Axis{size, new_size, middle(new_size, side), side};
  };
  const std::vector<Taps> columns = taps_of(axis(image.width));
  const std::vector<Taps> rows = taps_of(axis(image.height));
  const std::int64_t begin = rows.front().first;
  const std::int64_t end = rows.back().first + std::ssize(rows.back().weights);
  return scale_columns(scale_rows(image, columns, begin, end), begin, rows,
                       static_cast<std::size_t>(image.channels));
}

}  // namespace thinpipe::trainer

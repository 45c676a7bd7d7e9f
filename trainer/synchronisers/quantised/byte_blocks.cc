#include "trainer/synchronisers/quantised/byte_blocks.hh"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/quantised/ternary.hh"

namespace thinpipe::trainer {
namespace {

constexpr float largest = 127;

}  // namespace

void ByteBlocks::for_each_block(std::size_t n, const auto& block) const {
  const auto size = static_cast<std::size_t>(block_size_);
  for (std::size_t b = 0; b * size < n; ++b) block(b, b * size, std::min(size, n - b * size));
}

torch::Tensor ByteBlocks::encode(std::span<const float> values) const {
  torch::Tensor message = torch::zeros({bytes(std::ssize(values))}, torch::kByte);
  const auto out = elements<std::uint8_t>(message);
  const std::size_t codes = static_cast<std::size_t>(scale_bytes(std::ssize(values)));
  for_each_block(values.size(), [&](std::size_t b, std::size_t begin, std::size_t size) {
    const float scale = ternary_scale(values.subspan(begin, size));
    std::memcpy(&out[4 * b], &scale, sizeof scale);
    // All codes are then 0, which an infinite scale decodes to NaN.
    if (scale == 0 || std::isinf(scale)) return;
    for (std::size_t i = begin; i < begin + size; ++i) {
      const auto code = static_cast<std::int8_t>(std::lrint(largest * (values[i] / scale)));
      out[codes + i] = static_cast<std::uint8_t>(code);
    }
  });
  return message;
}

void ByteBlocks::add(const torch::Tensor& message, std::span<float> values) const {
  const auto in = elements<std::uint8_t>(message);
  const std::size_t codes = static_cast<std::size_t>(scale_bytes(std::ssize(values)));
  for_each_block(values.size(), [&](std::size_t b, std::size_t begin, std::size_t size) {
    float scale = 0;
    std::memcpy(&scale, &in[4 * b], sizeof scale);
    const float unit = scale / largest;
    for (std::size_t i = begin; i < begin + size; ++i)
      values[i] += unit * static_cast<float>(static_cast<std::int8_t>(in[codes + i]));
  });
}

}  // namespace thinpipe::trainer

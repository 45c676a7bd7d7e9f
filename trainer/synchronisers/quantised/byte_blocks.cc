// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/quantised/byte_blocks.hh"

#include <algorithm>
#include <cstring>

#include "trainer/base/byte_codes.hh"
#include "trainer/base/tensor_span.hh"

namespace thinpipe::trainer {
namespace {

// Returns the codes in a message, which follow the scales.
std::span<std::int8_t> codes_in(const torch::Tensor& message, std::int64_t scale_bytes) {
  const auto codes = elements<std::uint8_t>(message).subspan(static_cast<std::size_t>(scale_bytes));
  return {reinterpret_cast<std::int8_t*>(codes.data()), codes.size()};
}

}  // namespace

void ByteBlocks::for_each_block(std::size_t n, const auto& block) const {
  const auto size = static_cast<std::size_t>(block_size_);
  for (std::size_t b = 0; b * size < n; ++b) block(b, b * size, std::min(size, n - b * size));
}

torch::Tensor ByteBlocks::encode(std::span<const float> values) const {
  torch::Tensor message = torch::zeros({bytes(std::ssize(values))}, torch::kByte);
  auto* const scales = message.data_ptr<std::uint8_t>();
  const std::span<std::int8_t> codes = codes_in(message, scale_bytes(std::ssize(values)));
  for_each_block(values.size(), [&](std::size_t b, std::size_t begin, std::size_t size) {
    const float scale = largest_magnitude(values.subspan(begin, size));
    std::memcpy(scales + 4 * b, &scale, sizeof scale);
    round_to_bytes(values.subspan(begin, size), scale, codes.subspan(begin, size));
  });
  return message;
}

void ByteBlocks::add(const torch::Tensor& message, std::span<float> values) const {
  const auto* const scales = message.data_ptr<std::uint8_t>();
  const std::span<const std::int8_t> codes = codes_in(message, scale_bytes(std::ssize(values)));
  for_each_block(values.size(), [&](std::size_t b, std::size_t begin, std::size_t size) {
    float scale = 0;
    std::memcpy(&scale, scales + 4 * b, sizeof scale);
    add_bytes(codes.subspan(begin, size), scale, values.subspan(begin, size));
  });
}

}  // namespace thinpipe::trainer

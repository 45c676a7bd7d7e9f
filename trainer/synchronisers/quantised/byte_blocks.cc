// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/quantised/byte_blocks.hh"

#include "trainer/base/byte_codes.hh"
#include "trainer/base/tensor_span.hh"

namespace thinpipe::trainer {
namespace {

std::span<std::int8_t> as_codes(std::span<std::uint8_t> bytes) {
  return {reinterpret_cast<std::int8_t*>(bytes.data()), bytes.size()};
}

}  // namespace

torch::Tensor ByteBlocks::encode(std::span<const float> values) const {
  const std::int64_t n = std::ssize(values);
  torch::Tensor message = torch::zeros({bytes(n)}, torch::kByte);
  const auto written = elements<std::uint8_t>(message);
  const std::span<std::int8_t> codes = as_codes(blocks_.codes_in(written, n));
  blocks_.write_scales(written, n, [&](std::size_t begin, std::size_t size) {
    const float scale = largest_magnitude(values.subspan(begin, size));
    round_to_bytes(values.subspan(begin, size), scale, codes.subspan(begin, size));
    return scale;
  });
  return message;
}

void ByteBlocks::add(const torch::Tensor& message, std::span<float> values) const {
  const std::int64_t n = std::ssize(values);
  const auto read = elements<std::uint8_t>(message);
  const std::span<const std::int8_t> codes = as_codes(blocks_.codes_in(read, n));
  blocks_.read_scales(read, n, [&](std::size_t begin, std::size_t size, float scale) {
    add_bytes(codes.subspan(begin, size), scale, values.subspan(begin, size));
  });
}

}  // namespace thinpipe::trainer

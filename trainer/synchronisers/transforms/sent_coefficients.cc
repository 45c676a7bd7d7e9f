// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/transforms/sent_coefficients.hh"

#include <algorithm>
#include <cstddef>

namespace thinpipe::trainer {

std::vector<std::uint8_t> to_bytes(const SentCoefficients& sent) {
  const std::span<const std::byte> values = std::as_bytes(std::span(sent.values));
  const std::span<const std::byte> indices = std::as_bytes(std::span(sent.indices));
  std::vector<std::uint8_t> message(values.size() + indices.size());
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(message));
  std::ranges::copy(values, bytes.begin());
  std::ranges::copy(indices, bytes.subspan(values.size()).begin());
  return message;
}

SentCoefficients from_bytes(std::span<const std::uint8_t> message) {
  const std::span<const std::byte> bytes = std::as_bytes(message);
  const std::size_t count = bytes.size() / bytes_per_sent_coefficient;
  SentCoefficients sent{.values = std::vector<float>(count), .indices = std::vector<std::uint16_t>(count)};
  const std::span<std::byte> values = std::as_writable_bytes(std::span(sent.values));
  const std::span<std::byte> indices = std::as_writable_bytes(std::span(sent.indices));
  std::ranges::copy(bytes.first(values.size()), values.begin());
  std::ranges::copy(bytes.last(indices.size()), indices.begin());
  return sent;
}

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// Vectors divided into blocks of equally many entries, the last of which may be shorter, with a scale for each. A message
// about such a vector has the scales, float32, and then codes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

namespace thinpipe::trainer {

class ScaledBlocks {
 public:
  // block_size: at least 1.
  explicit ScaledBlocks(std::int64_t block_size) : block_size_(block_size) {}

  // Returns the bytes of the scales of n entries. Rounds up without overflow, for any block size.
  std::int64_t scale_bytes(std::int64_t n) const {
    return 4 * (n / block_size_ + (n % block_size_ == 0 ? 0 : 1));
  }

  // Returns the part of a message about n entries that follows the scales.
  template <class Byte>
  std::span<Byte> codes_in(std::span<Byte> message, std::int64_t n) const {
    return message.subspan(static_cast<std::size_t>(scale_bytes(n)));
  }

  // Writes the scales of a message about n entries: scale(begin, size) of each block.
  void write_scales(std::span<std::uint8_t> message, std::int64_t n, const auto& scale) const {
    for_each(n, [&](std::size_t b, std::size_t begin, std::size_t size) {
      const float value = scale(begin, size);
      std::memcpy(&message[4 * b], &value, sizeof value);
    });
  }

  // Calls block(begin, size, scale) for each block of a message about n entries.
  void read_scales(std::span<const std::uint8_t> message, std::int64_t n, const auto& block) const {
    for_each(n, [&](std::size_t b, std::size_t begin, std::size_t size) {
      float scale = 0;
      std::memcpy(&scale, &message[4 * b], sizeof scale);
      block(begin, size, scale);
    });
  }

 private:
  void for_each(std::int64_t n, const auto& block) const {
    const auto size = static_cast<std::size_t>(block_size_);
    const auto end = static_cast<std::size_t>(n);
    for (std::size_t b = 0; b * size < end; ++b) block(b, b * size, std::min(size, end - b * size));
  }

  std::int64_t block_size_;
};

}  // namespace thinpipe::trainer

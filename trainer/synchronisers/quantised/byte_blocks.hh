// SPDX-License-Identifier: Apache-2.0
// Messages of a byte per entry (trainer/base/byte_codes.hh) and a scale per block of entries.
#pragma once

#include <cstdint>
#include <span>

#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {

class ByteBlocks {
 public:
  // block_size: at least 1.
  explicit ByteBlocks(std::int64_t block_size) : block_size_(block_size) {}

  // Returns the bytes of a message about n entries.
  std::int64_t bytes(std::int64_t n) const { return scale_bytes(n) + n; }

  // Returns uint8: the blocks' scales, float32, then the codes. A block with an entry that is not finite decodes to NaN.
  torch::Tensor encode(std::span<const float> values) const;

  // Adds what a message of encode() about as many values decodes to.
  void add(const torch::Tensor& message, std::span<float> values) const;

 private:
  // Rounds up without overflow, for any block size.
  std::int64_t scale_bytes(std::int64_t n) const {
    return 4 * (n / block_size_ + (n % block_size_ == 0 ? 0 : 1));
  }

  // Calls block(b, begin, size) for each block of n entries.
  void for_each_block(std::size_t n, const auto& block) const;

  std::int64_t block_size_;
};

}  // namespace thinpipe::trainer

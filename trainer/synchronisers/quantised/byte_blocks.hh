// SPDX-License-Identifier: Apache-2.0
// Messages of a byte per entry (trainer/base/byte_codes.hh) and a scale per block of entries.
#pragma once

#include <cstdint>
#include <span>

#include "trainer/base/tensors.hh"
#include "trainer/synchronisers/quantised/scaled_blocks.hh"

namespace thinpipe::trainer {

class ByteBlocks {
 public:
  // block_size: at least 1.
  explicit ByteBlocks(std::int64_t block_size) : blocks_(block_size) {}

  // Returns the bytes of a message about n entries.
  std::int64_t bytes(std::int64_t n) const { return blocks_.scale_bytes(n) + n; }

  // Returns uint8: the blocks' scales, float32, then the codes. A block with an entry that is not finite decodes to NaN.
  torch::Tensor encode(std::span<const float> values) const;

  // Adds what a message of encode() about as many values decodes to.
  void add(const torch::Tensor& message, std::span<float> values) const;

 private:
  ScaledBlocks blocks_;
};

}  // namespace thinpipe::trainer

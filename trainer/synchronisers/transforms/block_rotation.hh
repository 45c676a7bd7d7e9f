// SPDX-License-Identifier: Apache-2.0
// A random rotation of a vector, block by block: random signs, then a Walsh-Hadamard transform. It spreads a
// few large entries over their whole block, so that all entries have similar, nearly normal distributions.
//   y = H·diag(ξ)·x;  x = diag(ξ)·H·y
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/base/philox.hh"

namespace thinpipe::trainer {

class BlockRotation {
 public:
  // Prepares the rotation of n entries. Blocks have block_size entries, a power of two; the last one is
  // padded with zeros to the next power of two. `stream`: the source of the signs.
  BlockRotation(std::int64_t n, std::int64_t block_size, const RandomStream& stream);

  struct Block {
    std::size_t begin = 0;
    std::size_t padded = 0;   // entries of the rotated vector
    std::size_t entries = 0;  // entries of the vector
  };
  const std::vector<Block>& blocks() const { return blocks_; }

  // Returns the number of entries of a rotated vector.
  static std::int64_t padded_size(std::int64_t n, std::int64_t block_size);

  // values: n entries. Returns padded_size entries.
  std::vector<float> rotate(std::span<const float> values) const;

  // Inverts rotate(). rotated: padded_size entries, which are overwritten.
  void rotate_back(std::span<float> rotated, std::span<float> values) const;

 private:
  void flip(std::span<float> rotated) const;
  void transform(std::span<float> rotated) const;

  std::vector<Block> blocks_;
  std::vector<std::uint32_t> signs_;  // a bit for each entry of a rotated vector: set if its sign changes
};

}  // namespace thinpipe::trainer

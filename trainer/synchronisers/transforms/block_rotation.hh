// A random rotation of a vector, block by block: signs drawn at random, then a Walsh-Hadamard transform. What
// was in few entries is spread over all of their block, so that they are alike and near to normally
// distributed.
//   y = H·diag(ξ)·x;  x = diag(ξ)·H·y
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/philox.hh"

namespace thinpipe::trainer {

class BlockRotation {
 public:
  // Of n entries. Blocks are of block_size, a power of two; the last one is filled up with zeros to the next
  // power of two. `stream`: where the signs are drawn from.
  BlockRotation(std::int64_t n, std::int64_t block_size, const RandomStream& stream);

  struct Block {
    std::size_t begin = 0;
    std::size_t padded = 0;   // entries, when rotated
    std::size_t entries = 0;  // of the n
  };
  const std::vector<Block>& blocks() const { return blocks_; }

  // The entries of a rotated vector.
  static std::int64_t padded_size(std::int64_t n, std::int64_t block_size);

  // values: n. Returns padded_size entries.
  std::vector<float> rotate(std::span<const float> values) const;

  // The inverse. rotated: padded_size entries, which are lost.
  void rotate_back(std::span<float> rotated, std::span<float> values) const;

 private:
  void flip(std::span<float> rotated) const;
  void transform(std::span<float> rotated) const;

  std::vector<Block> blocks_;
  std::vector<std::uint32_t> signs_;  // a bit for each entry of a rotated vector: set where its sign changes
};

}  // namespace thinpipe::trainer

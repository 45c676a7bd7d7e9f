// SPDX-License-Identifier: Apache-2.0
// A random block of each tensor, the same on every worker, averaged by a packed all-reduce without indices.
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/synchronisers/sparse/random_block.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {

// Its name in the option "sparsifier" of methods.
inline constexpr const char* random_block_name = "random_block";

class RandomBlockExchange {
 public:
  // The entries of a bucket that were taken out of its gradient.
  struct Taken {
    std::vector<EntryRange> blocks;
    torch::Tensor values;  // float32 [entries + 1], one block after the other; the last one: see take()
  };

  explicit RandomBlockExchange(std::uint64_t seed) : seed_(seed) {}

  void begin_step(std::uint64_t step) { step_ = static_cast<std::uint32_t>(step); }

  // Takes kept_count(ratio, n) successive entries of each tensor of n entries out of bucket.gradient, which has zeros
  // in their places afterwards. A tensor's block does not depend on the bucket that it is in. The additional value is
  // NaN if any entry of the gradient is not finite: otherwise one off the blocks would hide it.
  Taken take(Bucket& bucket, double ratio) const;

  // Sets bucket.gradient to the mean over workers of what they took, and to zero off the blocks.
  static void average(Taken taken, Bucket& bucket, Collective& network);

  static ExpectedTraffic traffic(const Bucket& bucket, double ratio, int world_size);

 private:
  std::vector<EntryRange> choose(const Bucket& bucket, double ratio) const;

  std::uint64_t seed_;
  std::uint32_t step_ = 0;
};

}  // namespace thinpipe::trainer

// Assigns training examples to workers and iterations.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {

// With N workers and batches of B, iteration i of an epoch takes the permutation's entries
// [i * B * N, (i + 1) * B * N); rank r takes the r-th B of them. N workers together thus see the batches that
// one worker with batches of N * B sees. An epoch leaves out the examples beyond its last whole global batch.
class BatchSampler {
 public:
  struct Options {
    std::int64_t examples = 0;
    std::int64_t batch_size_per_worker = 0;
    std::int64_t rank = 0;
    std::int64_t world_size = 1;
    std::uint64_t seed = 0;
  };

  // Throws Error if the examples do not fill one global batch.
  explicit BatchSampler(const Options& options);

  std::int64_t batches_per_epoch() const;

  // Returns int64 [B]: indices of examples. epoch >= 0, 0 <= iteration < batches_per_epoch(), in any order;
  // each change of epoch computes a new permutation.
  torch::Tensor batch(std::int64_t epoch, std::int64_t iteration);

 private:
  Options options_;
  std::optional<std::int64_t> epoch_;  // the epoch of permutation_
  std::vector<std::int64_t> permutation_;
};

}  // namespace thinpipe::trainer

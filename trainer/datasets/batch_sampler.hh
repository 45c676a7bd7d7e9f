// SPDX-License-Identifier: Apache-2.0
// Selects the training examples of each worker's batches.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {

// Examples of a batch, and the pass over the data in which they are drawn.
struct Selection {
  torch::Tensor examples;  // int64 [n]: their indices
  std::int64_t pass = 0;   // counted from 0
};

// An epoch of n examples, with N workers and batches of B, has floor(n / (B * N)) iterations.
//
// If the workers share all examples, iteration i of an epoch takes the permutation's entries
// [i * B * N, (i + 1) * B * N); rank r takes the r-th B of them. N workers together thus see the batches that
// one worker with batches of N * B sees. An epoch leaves out the examples beyond its last whole global batch.
//
// If a worker has a part of its own, it passes over its part again and again, each time in a new order, and
// iteration i of the run takes the entries [i * B, (i + 1) * B) of this sequence. A worker with few examples
// thus sees each of them several times per epoch, and one with many does not see all of them in each epoch.
class BatchSampler {
 public:
  struct Options {
    std::int64_t examples = 0;
    std::int64_t batch_size_per_worker = 0;
    std::int64_t rank = 0;
    std::int64_t world_size = 1;
    std::uint64_t seed = 0;
    // The examples of this worker, at least one; nullopt: all workers share all examples.
    std::optional<std::vector<std::int64_t>> own_part = {};
  };

  // Throws Error if the examples do not fill one global batch.
  explicit BatchSampler(const Options& options);

  std::int64_t batches_per_epoch() const;

  // Returns int64 [B]: indices of examples that all workers share. epoch >= 0,
  // 0 <= iteration < batches_per_epoch(), in any order; each change of epoch computes a new permutation.
  torch::Tensor batch(std::int64_t epoch, std::int64_t iteration);

  // Returns the B examples of an iteration of the run, counted from 0 over all epochs, in the order of the
  // batch.
  std::vector<Selection> select(std::int64_t iteration);

 private:
  void permute(std::int64_t pass);

  Options options_;
  std::optional<std::int64_t> pass_;       // the pass of permutation_
  std::vector<std::int64_t> permutation_;  // of the examples' indices
};

}  // namespace thinpipe::trainer

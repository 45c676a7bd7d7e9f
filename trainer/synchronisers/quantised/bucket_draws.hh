// SPDX-License-Identifier: Apache-2.0
// The random numbers that a method draws for a bucket in a step: one sequence per worker, or one for all
// workers.
#pragma once

#include "trainer/base/bucket.hh"
#include "trainer/base/philox.hh"
#include "trainer/base/tensor_span.hh"

namespace thinpipe::trainer {

class BucketDraws {
 public:
  explicit BucketDraws(std::uint64_t seed) : seed_(seed) {}

  void begin_step(std::uint64_t step) { step_ = static_cast<std::uint32_t>(step); }

  // Returns float32 [count], uniform on [0, 1), from this worker's own sequence.
  torch::Tensor uniform(const Bucket& bucket, int rank, std::int64_t count) const {
    torch::Tensor out = torch::empty({count});
    fill_uniform(stream(bucket, static_cast<std::uint32_t>(rank)), floats(out));
    return out;
  }

  // Fills `out` with this sequence from number `first` on, a multiple of 4.
  void fill_uniform_from(const Bucket& bucket, int rank, std::size_t first, std::span<float> out) const {
    fill_uniform(stream(bucket, static_cast<std::uint32_t>(rank)), out,
                 static_cast<std::uint32_t>(first / 4));
  }

  // Returns the stream that all workers share.
  RandomStream shared(const Bucket& bucket) const { return stream(bucket, shared_rank); }

 private:
  RandomStream stream(const Bucket& bucket, std::uint32_t rank) const {
    return {.seed = seed_, .step = step_, .bucket = static_cast<std::uint32_t>(bucket.index), .rank = rank};
  }

  std::uint64_t seed_;
  std::uint32_t step_ = 0;
};

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// Batches ready for a model, prefetched by a thread.
#pragma once

#include <future>

#include <boost/asio/thread_pool.hpp>

#include "trainer/datasets/batch_sampler.hh"
#include "trainer/datasets/dataset.hh"

namespace thinpipe::trainer {

struct Batch {
  torch::Tensor inputs;  // the result of Dataset::prepare
  torch::Tensor labels;  // int64 [n]; for text [n, sequence_length]

  Batch to(const torch::Device& device) const { return {inputs.to(device), labels.to(device)}; }
};

// Returns examples begin..begin+count-1 of a part, without augmentation.
Batch prepare_batch(const Dataset& dataset, const Examples& part, std::int64_t begin, std::int64_t count);

// The training data of one worker, augmented as the data set defines.
class BatchLoader {
 public:
  // `dataset` must outlive this. Throws Error if the examples do not fill one global batch.
  BatchLoader(const Dataset& dataset, const BatchSampler::Options& options);
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;
  BatchLoader(BatchLoader&&) = delete;
  BatchLoader& operator=(BatchLoader&&) = delete;

  std::int64_t batches_per_epoch() const { return sampler_.batches_per_epoch(); }

  // Returns the batch of an iteration, counted from 0 over all epochs. A thread prepares the next batch while
  // the caller uses this one.
  Batch load(std::int64_t iteration);

  // CPU time that the thread spent on the batch loaded last; 0 if the caller's thread prepared it.
  double prefetch_cpu_s() const { return prefetch_cpu_s_; }

 private:
  struct PrefetchedBatch {
    Batch batch;
    double cpu_s = 0;
  };

  Batch make(std::int64_t iteration);

  const Dataset& dataset_;
  std::uint64_t seed_;
  BatchSampler sampler_;
  std::int64_t ahead_ = -1;  // the iteration that next_ is for
  std::future<PrefetchedBatch> next_;
  double prefetch_cpu_s_ = 0;
  // The thread inherits the priority of the constructor's caller, which may lower its own priority
  // afterwards: a late batch delays all workers.
  boost::asio::thread_pool thread_{1};
};

}  // namespace thinpipe::trainer

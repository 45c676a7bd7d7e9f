// Batches as a model takes them, made ahead of time.
#pragma once

#include <future>

#include <boost/asio/thread_pool.hpp>

#include "trainer/datasets/batch_sampler.hh"
#include "trainer/datasets/dataset.hh"

namespace thinpipe::trainer {

struct Batch {
  torch::Tensor inputs;  // of Dataset::prepare
  torch::Tensor labels;  // int64 [n], or of text [n, sequence_length]

  Batch to(const torch::Device& device) const { return {inputs.to(device), labels.to(device)}; }
};

// Examples begin..begin+count-1 of a part, as they are.
Batch prepare_batch(const Dataset& dataset, const Examples& part, std::int64_t begin, std::int64_t count);

// The training data of one worker, augmented as the data set asks.
class BatchLoader {
 public:
  // `dataset` must outlive this. Throws Error when the examples do not fill one global batch.
  BatchLoader(const Dataset& dataset, const BatchSampler::Options& options);
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;
  BatchLoader(BatchLoader&&) = delete;
  BatchLoader& operator=(BatchLoader&&) = delete;

  std::int64_t batches_per_epoch() const { return sampler_.batches_per_epoch(); }

  // The batch of an iteration, counted from 0 over all epochs. While the caller works on it, a thread makes
  // the next one.
  Batch load(std::int64_t iteration);

  // Of a processor core, what that thread took for the batch that was loaded last; 0 where the caller made
  // it.
  double made_ahead_processor_s() const { return made_ahead_processor_s_; }

 private:
  struct MadeAhead {
    Batch batch;
    double processor_s = 0;
  };

  Batch make(std::int64_t iteration);

  const Dataset& dataset_;
  std::uint64_t seed_;
  BatchSampler sampler_;
  std::int64_t ahead_ = -1;  // the iteration that next_ is for
  std::future<MadeAhead> next_;
  double made_ahead_processor_s_ = 0;
  // Started here, it has the priority of whoever makes the loader, which may lower its own afterwards: a
  // batch that is late keeps all workers waiting.
  boost::asio::thread_pool thread_{1};
};

}  // namespace thinpipe::trainer

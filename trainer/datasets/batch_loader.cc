// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/batch_loader.hh"

#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include "trainer/base/stopwatch.hh"
#include "trainer/datasets/augmentation.hh"

namespace thinpipe::trainer {

namespace {

torch::Tensor joined(const std::vector<torch::Tensor>& stretches) {
  return stretches.size() == 1 ? stretches.front() : torch::cat(stretches);
}

}  // namespace

Batch prepare_batch(const Dataset& dataset, const Examples& part, std::int64_t begin, std::int64_t count) {
  return {.inputs = dataset.prepare(part.inputs.narrow(0, begin, count)),
          .labels = dataset.prepare_labels(part.labels.narrow(0, begin, count))};
}

BatchLoader::BatchLoader(const Dataset& dataset, const BatchSampler::Options& options)
    : dataset_(dataset), seed_(options.seed), sampler_(options) {}

BatchLoader::~BatchLoader() {
  thread_.join();
}

Batch BatchLoader::load(std::int64_t iteration) {
  PrefetchedBatch made = next_.valid() && ahead_ == iteration ? next_.get() : PrefetchedBatch{};
  if (next_.valid()) next_.wait();  // not the iteration that was prefetched: wait until the sampler is free
  if (!made.batch.inputs.defined()) made.batch = make(iteration);
  prefetch_cpu_s_ = made.cpu_s;
  ahead_ = iteration + 1;
  next_ = boost::asio::post(thread_, boost::asio::use_future([this, ahead = ahead_] {
                              const Stopwatch stopwatch;
                              Batch batch = make(ahead);
                              return PrefetchedBatch{std::move(batch), stopwatch.cpu_s()};
                            }));
  return made.batch;
}

Batch BatchLoader::make(std::int64_t iteration) {
  const torch::NoGradGuard no_grad;
  const Examples& train = dataset_.train();
  std::vector<torch::Tensor> inputs;
  std::vector<torch::Tensor> labels;
  for (const auto& [chosen, pass] : sampler_.select(iteration)) {
    inputs.push_back(augment(train.inputs.index_select(0, chosen), chosen, dataset_.augmentation(),
                             {.seed = seed_, .epoch = pass}));
    labels.push_back(train.labels.index_select(0, chosen));
  }
  return {.inputs = dataset_.prepare(joined(inputs)), .labels = dataset_.prepare_labels(joined(labels))};
}

}  // namespace thinpipe::trainer

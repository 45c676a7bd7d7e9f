#include "trainer/datasets/batch_loader.hh"

#include "trainer/datasets/augmentation.hh"

namespace thinpipe::trainer {

Batch prepare_batch(const Dataset& dataset, const Examples& part, std::int64_t begin, std::int64_t count) {
  return {.inputs = dataset.prepare(part.inputs.narrow(0, begin, count)),
          .labels = part.labels.narrow(0, begin, count).to(torch::kInt64)};
}

BatchLoader::BatchLoader(const Dataset& dataset, const BatchSampler::Options& options)
    : dataset_(dataset), seed_(options.seed), sampler_(options) {}

BatchLoader::~BatchLoader() {
  if (next_.valid()) next_.wait();
}

Batch BatchLoader::load(std::int64_t iteration) {
  Batch batch = next_.valid() && ahead_ == iteration ? next_.get() : Batch{};
  if (next_.valid()) next_.wait();  // another iteration than was expected: the sampler must be free
  if (!batch.inputs.defined()) batch = make(iteration);
  ahead_ = iteration + 1;
  next_ = std::async(std::launch::async, [this, ahead = ahead_] { return make(ahead); });
  return batch;
}

Batch BatchLoader::make(std::int64_t iteration) {
  const torch::NoGradGuard no_grad;
  const std::int64_t epoch = iteration / batches_per_epoch();
  const torch::Tensor chosen = sampler_.batch(epoch, iteration % batches_per_epoch());
  const Examples& train = dataset_.train();
  const torch::Tensor inputs = augment(train.inputs.index_select(0, chosen), chosen, dataset_.augmentation(),
                                       {.seed = seed_, .epoch = epoch});
  return {.inputs = dataset_.prepare(inputs),
          .labels = train.labels.index_select(0, chosen).to(torch::kInt64)};
}

}  // namespace thinpipe::trainer

#include "trainer/datasets/batch_sampler.hh"

#include <fmt/format.h>

#include "common/support/exception.hh"
#include "trainer/datasets/epoch_permutation.hh"

namespace thinpipe::trainer {
BatchSampler::BatchSampler(const Options& options) : options_(options) {
  const std::int64_t global_batch = options.batch_size_per_worker * options.world_size;
  if (options.examples < global_batch) {
    throw Error(fmt::format(
        "{} training examples do not fill one iteration: {} workers with batches of {} need {}; use "
        "more examples, or smaller batches",
        options.examples, options.world_size, options.batch_size_per_worker, global_batch));
  }
}

std::int64_t BatchSampler::batches_per_epoch() const {
  return options_.examples / (options_.batch_size_per_worker * options_.world_size);
}

torch::Tensor BatchSampler::batch(std::int64_t epoch, std::int64_t iteration) {
  TORCH_CHECK_INDEX(epoch >= 0 && iteration >= 0 && iteration < batches_per_epoch(), "no iteration ",
                    iteration, " in epoch ", epoch);
  if (epoch_ != epoch) {
    permutation_ = epoch_permutation(options_.examples, options_.seed, epoch);
    epoch_ = epoch;
  }
  const std::int64_t first =
      (iteration * options_.world_size + options_.rank) * options_.batch_size_per_worker;
  return torch::from_blob(permutation_.data() + first, {options_.batch_size_per_worker}, torch::kInt64)
      .clone();
}

}  // namespace thinpipe::trainer

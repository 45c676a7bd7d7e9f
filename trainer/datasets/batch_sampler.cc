// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/batch_sampler.hh"

#include <algorithm>

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
  permute(epoch);
  const std::int64_t first =
      (iteration * options_.world_size + options_.rank) * options_.batch_size_per_worker;
  return torch::from_blob(permutation_.data() + first, {options_.batch_size_per_worker}, torch::kInt64)
      .clone();
}

std::vector<Selection> BatchSampler::select(std::int64_t iteration) {
  if (!options_.own_part) {
    const std::int64_t epoch = iteration / batches_per_epoch();
    return {{.examples = batch(epoch, iteration % batches_per_epoch()), .pass = epoch}};
  }
  const std::int64_t size = std::ssize(*options_.own_part);
  const std::int64_t end = (iteration + 1) * options_.batch_size_per_worker;
  std::vector<Selection> selections;
  for (std::int64_t at = iteration * options_.batch_size_per_worker; at < end;) {
    const std::int64_t pass = at / size;
    const std::int64_t count = std::min(end, (pass + 1) * size) - at;
    permute(pass);
    torch::Tensor examples =
        torch::from_blob(permutation_.data() + at % size, {count}, torch::kInt64).clone();
    selections.push_back({.examples = std::move(examples), .pass = pass});
    at += count;
  }
  return selections;
}

void BatchSampler::permute(std::int64_t pass) {
  if (pass_ == pass) return;
  if (options_.own_part) {
    const std::vector<std::int64_t>& part = *options_.own_part;
    permutation_ =
        epoch_permutation(std::ssize(part), options_.seed, pass, static_cast<std::uint32_t>(options_.rank));
    for (std::int64_t& entry : permutation_) entry = part[static_cast<std::size_t>(entry)];
  } else {
    permutation_ = epoch_permutation(options_.examples, options_.seed, pass);
  }
  pass_ = pass;
}

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// Time per batch: 32 augmented images of CIFAR's shape, prepared on demand and prefetched.
#include <chrono>
#include <thread>

#include <benchmark/benchmark.h>

#include "trainer/datasets/augmentation.hh"
#include "trainer/datasets/batch_loader.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::int64_t batch_size = 32;

std::unique_ptr<Dataset> images() {
  return DatasetRegistry::instance().make({{"name", "synthetic"},
                                           {"channels", 3},
                                           {"height", 32},
                                           {"width", 32},
                                           {"train_examples", 4096},
                                           {"test_examples", 1},
                                           {"augment", true}},
                                          {"benchmark", ""}, Files::read);
}

BatchSampler::Options options(const Dataset& dataset) {
  return {.examples = dataset.train().size(), .batch_size_per_worker = batch_size, .seed = 1};
}

void crop_and_flip(benchmark::State& state) {
  const auto dataset = images();
  const torch::Tensor chosen = torch::arange(batch_size);
  const torch::Tensor batch = dataset->train().inputs.index_select(0, chosen);
  for (auto _ : state) {
    benchmark::DoNotOptimize(augment(batch, chosen, dataset->augmentation(), {.seed = 1}));
  }
  state.SetItemsProcessed(state.iterations() * batch_size);
}

void without_prefetch(benchmark::State& state) {
  const auto dataset = images();
  BatchSampler sampler(options(*dataset));
  std::int64_t iteration = 0;
  for (auto _ : state) {
    const torch::Tensor chosen = sampler.batch(0, iteration++ % sampler.batches_per_epoch());
    const torch::Tensor inputs = augment(dataset->train().inputs.index_select(0, chosen), chosen,
                                         dataset->augmentation(), {.seed = 1});
    benchmark::DoNotOptimize(dataset->prepare(inputs));
    benchmark::DoNotOptimize(dataset->train().labels.index_select(0, chosen).to(torch::kInt64));
  }
  state.SetItemsProcessed(state.iterations() * batch_size);
}

// The caller works long enough between two batches for the next one to be ready.
void with_prefetch(benchmark::State& state) {
  const auto dataset = images();
  BatchLoader loader(*dataset, options(*dataset));
  std::int64_t iteration = 0;
  for (auto _ : state) {
    state.PauseTiming();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    state.ResumeTiming();
    benchmark::DoNotOptimize(loader.load(iteration++));
  }
  state.SetItemsProcessed(state.iterations() * batch_size);
}

BENCHMARK(crop_and_flip)->Unit(benchmark::kMicrosecond);
BENCHMARK(without_prefetch)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK(with_prefetch)->Unit(benchmark::kMicrosecond)->UseRealTime();

}  // namespace
}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// Selection and packing, relative to PyTorch's and memcpy's time for the same in one run: 25 million entries,
// the size of ResNet-50's gradient.
#include "trainer/synchronisers/sparse/top_k.hh"

#include <chrono>
#include <cstring>

#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include "trainer/base/philox.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/packed/packed_entries.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::int64_t resnet50_entries = 25'000'000;

torch::Tensor gradient_of_25m() {
  torch::Tensor out = torch::empty({resnet50_entries});
  fill_uniform({.seed = 2}, floats(out));
  return out.sub_(0.5).pow_(3);
}

double time_of(const auto& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  benchmark::ClobberMemory();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// Selects a hundredth of the entries. "torch_over_ours" is torch::topk's time relative to ours.
void select_top_k(benchmark::State& state) {
  at::set_num_threads(1);
  const torch::Tensor values = gradient_of_25m();
  const std::int64_t k = resnet50_entries / 100;
  double ours_s = 0;
  double torch_s = 0;
  for (auto _ : state) {
    ours_s += time_of(
        [&] { benchmark::DoNotOptimize(top_k_indices(floats(values), static_cast<std::size_t>(k))); });
    torch_s += time_of([&] { benchmark::DoNotOptimize(values.abs().topk(k, 0, true, /*sorted=*/false)); });
  }
  state.counters["ours_ms"] = 1e3 * ours_s / static_cast<double>(state.iterations());
  state.counters["torch_over_ours"] = torch_s / ours_s;
}

// Packs by a mask that keeps half of the filters, which have range(0) weights each: time relative to copying the
// whole input.
void pack_half(benchmark::State& state) {
  const torch::Tensor values = gradient_of_25m();
  torch::Tensor uniform = torch::empty({resnet50_entries / state.range(0)});
  fill_uniform({.seed = 1}, floats(uniform));
  const PackedEntries entries(uniform.lt(0.5).repeat_interleave(state.range(0)));
  const torch::Tensor packed = torch::empty({entries.packed_size()});
  const torch::Tensor copy = torch::empty_like(values);
  double pack_s = 0;
  double unpack_s = 0;
  double copy_s = 0;
  for (auto _ : state) {
    pack_s += time_of([&] { benchmark::DoNotOptimize(entries.gather(floats(values), 8, floats(packed))); });
    unpack_s += time_of([&] { entries.scatter(floats(packed), floats(copy)); });
    copy_s += time_of([&] { std::memcpy(copy.data_ptr(), values.data_ptr(), values.nbytes()); });
  }
  state.counters["pack_over_memcpy"] = pack_s / copy_s;
  state.counters["unpack_over_memcpy"] = unpack_s / copy_s;
}

BENCHMARK(select_top_k)->Unit(benchmark::kMillisecond)->Iterations(5);
BENCHMARK(pack_half)
    ->ArgName("weights")
    ->Arg(1)
    ->Arg(5)
    ->Arg(10)
    ->Arg(20)
    ->Arg(50)
    ->Arg(1000)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(10);

}  // namespace
}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// The arithmetic of all_reduce relative to memory bandwidth, and all_reduce over the loopback device and in
// process.
#include <chrono>
#include <cstring>

#include <benchmark/benchmark.h>

#include "trainer/collectives/reduce_function.hh"
#include "trainer/collectives/tests/world.hh"

namespace thinpipe::trainer {
namespace {

void copy(benchmark::State& state) {
  const torch::Tensor from = torch::ones(state.range(0), torch::kFloat16);
  const torch::Tensor into = torch::zeros(state.range(0), torch::kFloat16);
  for (auto _ : state) {
    std::memcpy(into.data_ptr(), from.data_ptr(), from.nbytes());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(from.nbytes()));
}

void accumulate(benchmark::State& state, torch::ScalarType type, Reduction reduction) {
  const torch::Tensor from = torch::zeros(state.range(0), type);
  const torch::Tensor into = torch::ones(state.range(0), type);
  const Reduce function = reduce_function(type, reduction);
  const void* const part = from.data_ptr();
  for (auto _ : state) {
    function(into.data_ptr(), std::span(&part, 1), static_cast<std::size_t>(from.numel()));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(from.nbytes()));
}

// LibTorch's function for the same.
void torch_add(benchmark::State& state, torch::ScalarType type) {
  const torch::Tensor from = torch::zeros(state.range(0), type);
  torch::Tensor into = torch::ones(state.range(0), type);
  for (auto _ : state) into.add_(from);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(from.nbytes()));
}

// Bytes processed are those of the tensor ("algorithm bandwidth").
void all_reduce(benchmark::State& state, const char* backend, torch::ScalarType type) {
  const auto world_size = static_cast<int>(state.range(0));
  const std::int64_t elements = state.range(1);
  constexpr int calls = 10;
  for (auto _ : state) {
    double seconds = 0;
    testing::run_world(backend, world_size, [&](Collective& net) {
      torch::Tensor tensor = torch::zeros(elements, type);
      net.all_reduce(tensor, Reduction::sum);
      net.barrier();
      const auto began = std::chrono::steady_clock::now();
      for (int i = 0; i < calls; ++i) net.all_reduce(tensor, Reduction::sum);
      net.barrier();
      if (net.rank() == 0)
        seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    });
    state.SetIterationTime(seconds / calls);
  }
  state.SetBytesProcessed(state.iterations() * elements * static_cast<std::int64_t>(c10::elementSize(type)));
}

// A segment of Gloo's ring is at most 1 MiB.
constexpr std::int64_t segment_halves = 1 << 19;
constexpr std::int64_t many_halves = 1 << 25;

BENCHMARK(copy)->Arg(segment_halves)->Arg(many_halves);
BENCHMARK_CAPTURE(accumulate, float16_sum, torch::kFloat16, Reduction::sum)
    ->Arg(segment_halves)
    ->Arg(many_halves);
BENCHMARK_CAPTURE(torch_add, float16, torch::kFloat16)->Arg(segment_halves)->Arg(many_halves);
BENCHMARK_CAPTURE(accumulate, float32_sum, torch::kFloat32, Reduction::sum)->Arg(segment_halves / 2);
BENCHMARK_CAPTURE(accumulate, int8_sum, torch::kInt8, Reduction::sum)->Arg(2 * segment_halves);
BENCHMARK_CAPTURE(all_reduce, gloo_float32, "gloo", torch::kFloat32)
    ->ArgsProduct({{2, 8}, {256, 1 << 22}})
    ->UseManualTime()
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(all_reduce, gloo_float16, "gloo", torch::kFloat16)
    ->ArgsProduct({{2, 8}, {1 << 22}})
    ->UseManualTime()
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(all_reduce, in_process_float32, "in_process", torch::kFloat32)
    ->ArgsProduct({{8}, {256, 1 << 22}})
    ->UseManualTime()
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace thinpipe::trainer

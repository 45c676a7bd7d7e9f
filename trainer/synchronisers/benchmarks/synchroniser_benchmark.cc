// What a method computes for one bucket, without a network: a world of one, whose collectives return at once.
// Compare with copying the bucket, the least that any method can do.
#include "trainer/synchronisers/synchroniser.hh"

#include <cstring>

#include <benchmark/benchmark.h>

#include "trainer/collectives/in_process.hh"
#include "trainer/philox.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::int64_t entries = std::int64_t{1} << 20;

// Half of the entries pruned, as unstructured pruning leaves them: anywhere.
torch::Tensor half_mask() {
  torch::Tensor uniform = torch::empty({entries});
  fill_uniform({.seed = 1}, {uniform.data_ptr<float>(), static_cast<std::size_t>(entries)});
  return uniform.lt(0.5);
}

torch::Tensor gradient_under(const torch::Tensor& mask) {
  torch::Tensor uniform = torch::empty({entries});
  fill_uniform({.seed = 2}, {uniform.data_ptr<float>(), static_cast<std::size_t>(entries)});
  return (uniform - 0.5).mul_(mask);
}

void copy(benchmark::State& state) {
  const torch::Tensor from = torch::ones({entries});
  const torch::Tensor into = torch::zeros({entries});
  for (auto _ : state) {
    std::memcpy(into.data_ptr(), from.data_ptr(), from.nbytes());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(from.nbytes()));
}

void uniform(benchmark::State& state) {
  std::vector<float> out(static_cast<std::size_t>(entries));
  for (auto _ : state) {
    fill_uniform({.seed = 1}, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * entries * 4);
}

void synchronise(benchmark::State& state, const Json& method) {
  at::set_num_threads(1);
  InProcessGroup alone(1);
  const std::unique_ptr<Collective> network = alone.join(0);
  const torch::Tensor mask = half_mask();
  const auto synchroniser = SynchroniserRegistry::instance().make(
      method, {"benchmark", ""},
      {.parameters = {{.name = "weight", .size = entries, .dimensions = 2}}, .kept = {mask}, .seed = 1});
  Bucket bucket{.size = entries, .slices = {{.parameter = 0, .offset = 0, .size = entries}}};
  synchroniser->prepare({bucket});
  const torch::Tensor gradient = gradient_under(mask);
  bucket.gradient = gradient.clone();
  std::uint64_t step = 0;
  for (auto _ : state) {
    state.PauseTiming();
    bucket.gradient.copy_(gradient);
    state.ResumeTiming();
    synchroniser->begin_step(++step);
    synchroniser->synchronise(bucket, *network);
    synchroniser->finish_step(true);
  }
  state.SetBytesProcessed(state.iterations() * entries * 4);
}

BENCHMARK(copy)->Unit(benchmark::kMicrosecond);
BENCHMARK(uniform)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(synchronise, dense, {{"name", "dense"}})->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(synchronise, fp16, {{"name", "fp16"}})->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(synchronise, topk_0_01, {{"name", "topk"}, {"ratio", 0.01}})->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(synchronise, topk_0_1, {{"name", "topk"}, {"ratio", 0.1}})->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(synchronise, pactrain, {{"name", "pactrain"}})->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(synchronise, pactrain_ternary, {{"name", "pactrain"}, {"values", "ternary"}})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// The cost of pruning when a gradient is copied to its bucket: the same gradient with and without
// a mask, in one run.
#include <chrono>

#include <benchmark/benchmark.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/exchange/gradient_exchange.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::int64_t width = 1024;

class OneLayer : public Model {
 public:
  torch::Tensor forward(const torch::Tensor& inputs) override { return layer(inputs); }
  std::string head() const override { return "layer"; }

  torch::nn::Linear layer =
      register_module("layer", torch::nn::Linear(torch::nn::LinearOptions(width, width).bias(false)));
};

// The exchange of a single worker.
class Handover {
 public:
  explicit Handover(const torch::Tensor& kept)
      : collective_(InProcessGroup(1).join(0)),
        exchange_(model_, Mask({{"layer.weight", kept}}),
                  SynchroniserRegistry::instance().make({{"name", "dense"}}, {}, {}), collective_, {}) {}

  double seconds() {
    exchange_.begin_step();
    const auto began = std::chrono::steady_clock::now();
    exchange_.submit(0, gradient_);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    exchange_.finish_step();
    return took.count();
  }

 private:
  OneLayer model_;
  MeteredCollective collective_;
  GradientExchange exchange_;
  torch::Tensor gradient_ = torch::randn({width, width});
};

// Prunes range(0) percent of 2^20 weights at random. "over_unpruned": the time relative to the
// unpruned gradient's.
void hand_a_pruned_gradient_over(benchmark::State& state) {
  at::set_num_threads(1);
  const torch::Tensor whole = torch::ones({width, width}, torch::kBool);
  Handover pruned(torch::rand({width, width}) >= 0.01 * static_cast<double>(state.range(0)));
  Handover unpruned(whole);
  double pruned_s = 0;
  double unpruned_s = 0;
  for (auto _ : state) {
    pruned_s += pruned.seconds();
    unpruned_s += unpruned.seconds();
  }
  state.counters["pruned_us"] = 1e6 * pruned_s / static_cast<double>(state.iterations());
  state.counters["over_unpruned"] = pruned_s / unpruned_s;
}
BENCHMARK(hand_a_pruned_gradient_over)->ArgName("percent")->Arg(50)->Arg(90)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace thinpipe::trainer

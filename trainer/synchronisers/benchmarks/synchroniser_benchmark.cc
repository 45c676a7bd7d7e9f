// SPDX-License-Identifier: Apache-2.0
// A method's compute time for one bucket on one thread. One worker of eight encodes its message and decodes
// those of all eight, which equal its own (echoing_peers.hh); time in collectives is excluded. Each time is
// also given relative to copying the bucket, the lower bound for any method, measured in the same run.
//
// "saved_s" is the time that the method saves relative to dense ring all-reduce, among the eight over 1
// Gbit/s, by the bytes that both claim. If "share_of_saving" is above 1, compute costs more than is saved
// there. It is absent if nothing is saved.
#include "trainer/synchronisers/synchroniser.hh"

#include <algorithm>
#include <chrono>
#include <cstring>

#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "common/protocol/machine_names.hh"
#include "trainer/base/philox.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/collectives/backends/in_process.hh"
#include "trainer/collectives/echoing_peers.hh"
#include "trainer/collectives/metered.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::int64_t smaller = std::int64_t{1} << 20;
constexpr std::int64_t resnet50 = 25'000'000;
constexpr std::int64_t larger = std::int64_t{1} << 26;
constexpr int workers = 8;
constexpr double gbit_per_s_in_bytes = 1e9 / 8;

torch::Tensor uniform_numbers(std::uint64_t seed, std::int64_t n) {
  torch::Tensor out = torch::empty({n});
  fill_uniform({.seed = seed}, floats(out));
  return out;
}

// Returns the time to copy a bucket on this machine now: the minimum of a few copies.
double copy_s(std::int64_t n) {
  const torch::Tensor from = torch::ones({n});
  const torch::Tensor into = torch::zeros({n});
  double min_s = std::numeric_limits<double>::max();
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto began = std::chrono::steady_clock::now();
    std::memcpy(into.data_ptr(), from.data_ptr(), from.nbytes());
    benchmark::ClobberMemory();
    min_s = std::min(min_s, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  return min_s;
}

// Returns the rows of a matrix of n entries, one of the sizes above.
std::int64_t rows_of(std::int64_t n) {
  return n == resnet50 ? 5000 : 1024;
}

// A matrix of n entries, half of them pruned at random positions, as in unstructured pruning.
class OneBucket {
 public:
  OneBucket(const Json& method, std::int64_t n, bool pruned)
      : mask_(uniform_numbers(1, n).lt(0.5)),
        gradient_((uniform_numbers(2, n) - 0.5).masked_fill_(mask_.logical_not(), 0)),
        bucket_{.size = n, .slices = {{.parameter = 0, .offset = 0, .size = n}}},
        method_(SynchroniserRegistry::instance().make(
            method, {"benchmark", ""},
            {.parameters = {{.name = "weight", .size = n, .dimensions = 2, .rows = rows_of(n)}},
             .kept = {pruned ? mask_ : torch::Tensor()},
             .weights = {uniform_numbers(3, n)},
             .seed = 1})) {
    if (!pruned) gradient_ = uniform_numbers(2, n) - 0.5;
    method_->prepare({bucket_});
    bucket_.gradient = gradient_.clone();
  }

  void renew() { bucket_.gradient.copy_(gradient_); }

  // Only the section's times outside collectives are meaningful.
  Section step(MeteredCollective& network) {
    method_->set_learning_rate(0.1);
    method_->begin_step(++step_);
    network.begin_section();
    method_->synchronise(bucket_, network);
    const Section section = network.end_section();
    method_->finish_step(true);
    return section;
  }

  double sent_bytes() const { return method_->steady_state_traffic(bucket_, workers).sent_bytes; }

 private:
  torch::Tensor mask_;
  torch::Tensor gradient_;
  Bucket bucket_;
  std::unique_ptr<Synchroniser> method_;
  std::uint64_t step_ = 0;
};

struct Measured {
  const char* name;
  Json method;
  bool pruned = false;
  // Other workers' messages do not resemble its own, so an echo cannot stand in for them: a world of one.
  bool alone = false;
};

void synchronise(benchmark::State& state, const Measured& measured) {
  at::set_num_threads(1);
  const std::int64_t n = state.range(0);
  InProcessGroup alone(1);
  MeteredCollective network(measured.alone ? alone.join(0) : std::make_unique<EchoingPeers>(workers));
  OneBucket bucket(measured.method, n, measured.pruned);
  const double memcpy_s = copy_s(n);
  bucket.renew();
  bucket.step(network);  // the first step touches memory that later steps reuse
  Section total;
  for (auto _ : state) {
    bucket.renew();
    const Section section = bucket.step(network);
    state.SetIterationTime(section.encode_s + section.decode_s);
    total += section;
  }
  state.SetBytesProcessed(state.iterations() * n * 4);
  const double encode_s = total.encode_s / static_cast<double>(state.iterations());
  const double decode_s = total.decode_s / static_cast<double>(state.iterations());
  const double saved_s =
      (all_reduce_traffic(4 * n, workers).sent_bytes - bucket.sent_bytes()) / gbit_per_s_in_bytes;
  state.counters["encode_ms"] = 1e3 * encode_s;
  state.counters["decode_ms"] = 1e3 * decode_s;
  state.counters["times_memcpy"] = (encode_s + decode_s) / memcpy_s;
  state.counters["saved_s"] = saved_s;
  if (saved_s > 0) state.counters["share_of_saving"] = (encode_s + decode_s) / saved_s;
}

const std::vector<Measured>& measured() {
  static const std::vector<Measured> all = {
      {"dense", {{"name", "dense"}}},
      {"fp16", {{"name", "fp16"}}},
      {"bf16", {{"name", "bf16"}}},
      {"topk_0.01", {{"name", "topk"}, {"ratio", 0.01}}},
      {"topk_0.1_bitmap", {{"name", "topk"}, {"ratio", 0.1}, {"indices", "bitmap"}}},
      {"topk_0.01_golomb", {{"name", "topk"}, {"ratio", 0.01}, {"indices", "golomb"}}},
      {"pactrain", {{"name", "pactrain"}}, true},
      {"pactrain_ternary", {{"name", "pactrain"}, {"values", "ternary"}}, true},
      {"terngrad", {{"name", "terngrad"}}},
      {"terngrad_int8", {{"name", "terngrad"}, {"exchange", "all_reduce"}}},
      {"qsgd_4", {{"name", "qsgd"}, {"bits", 4}}},
      {"thc", {{"name", "thc"}}},
      {"signsgd", {{"name", "signsgd"}}},
      {"one_bit", {{"name", "one_bit"}}},
      {"ef_scaled_sign", {{"name", "ef"}, {"inner", {{"name", "scaled_sign"}}}}},
      {"dgc_0.001", {{"name", "dgc"}, {"ratio", 0.001}}},
      {"gmc_0.01", {{"name", "gmc"}, {"ratio", 0.01}}},
      {"iwp", {{"name", "iwp"}}},
      {"topk_chunked_0.01", {{"name", "topk_chunked"}, {"ratio", 0.01}}},
      {"spardl_0.01", {{"name", "spardl"}, {"ratio", 0.01}}},
      {"ok_topk_0.01", {{"name", "ok_topk"}, {"ratio", 0.01}}, false, true},
      {"deepreduce_bloom_p0", {{"name", "deepreduce"}, {"inner", {{"name", "topk"}, {"ratio", 0.01}}}}},
      {"zen", {{"name", "zen"}}, true, true},
      {"omnireduce", {{"name", "omnireduce"}}, true, true},
      {"omnireduce_bulk", {{"name", "omnireduce_bulk"}}, true, true},
      {"powersgd", {{"name", "powersgd"}}},
      {"demo", {{"name", "demo"}}},
      {"sbc", {{"name", "sbc"}}},
      {"diloco", {{"name", "diloco"}}},
  };
  return all;
}

const bool registered = [] {
  benchmark::AddCustomContext("cpu", cpu_name().value_or("unknown cpu"));
  for (const Measured& each : measured()) {
    benchmark::RegisterBenchmark(fmt::format("synchronise/{}", each.name).c_str(),
                                 [&each](benchmark::State& state) { synchronise(state, each); })
        ->Arg(smaller)
        ->Arg(resnet50)
        ->Arg(larger)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  }
  return true;
}();

}  // namespace
}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// Measures what the time series of the links costs: a reading that is written, ten a second by default, and one between
// samples, 250 a second. The counters themselves are read anyway, for the verdict.
#include "harness/run/network/link_series.hh"

#include <filesystem>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

namespace thinpipe {
namespace {

std::vector<netem::LinkCounters> reading(double time_s, std::uint64_t bytes) {
  std::vector<netem::LinkCounters> out;
  for (const char* name : {"left->middle", "middle->left", "middle->right", "right->middle"})
    out.push_back({.name = name, .bytes = bytes, .backlog_bytes = bytes % 100000, .time_s = time_s});
  return out;
}

std::filesystem::path scratch_file() {
  return std::filesystem::temp_directory_path() / fmt::format("link-series-{}.jsonl", ::getpid());
}

// `due`: whether each reading is written.
void add(benchmark::State& state, bool due) {
  const std::filesystem::path file = scratch_file();
  {
    LinkSeries series(file, due ? 100 : 1e-6, reading(0, 0));
    double time_s = 0;
    std::uint64_t bytes = 0;
    for (auto _ : state) series.add(reading(time_s += 0.011, bytes += 1'250'000));
  }
  std::filesystem::remove(file);
}

BENCHMARK_CAPTURE(add, written, true);
BENCHMARK_CAPTURE(add, between_samples, false);

}  // namespace
}  // namespace thinpipe

BENCHMARK_MAIN();

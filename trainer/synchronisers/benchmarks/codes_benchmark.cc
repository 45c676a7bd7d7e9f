// SPDX-License-Identifier: Apache-2.0
// The time to write and read the compact codes, relative to copying their input in the same run: 25 million
// entries on one thread. For index codes the input is the list of indices, 4 bytes each.
#include <chrono>
#include <cstring>

#include <benchmark/benchmark.h>

#include "trainer/base/packed_codes.hh"
#include "trainer/base/philox.hh"
#include "trainer/synchronisers/quantised/sign_code.hh"
#include "trainer/synchronisers/sparse/index_code.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::size_t entries = 25'000'000;

double seconds_of(const auto& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  benchmark::ClobberMemory();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

std::vector<float> uniform_entries() {
  std::vector<float> out(entries);
  fill_uniform({.seed = 4}, out);
  return out;
}

// Measures `write` and `read` relative to a copy of `source`.
template <class Item>
void measure(benchmark::State& state, const std::vector<Item>& source, const auto& write, const auto& read) {
  std::vector<Item> copy(source.size());
  double write_s = 0;
  double read_s = 0;
  double copy_s = 0;
  for (auto _ : state) {
    write_s += seconds_of(write);
    read_s += seconds_of(read);
    copy_s += seconds_of([&] { std::memcpy(copy.data(), source.data(), source.size() * sizeof(Item)); });
  }
  state.counters["write_over_memcpy"] = write_s / copy_s;
  state.counters["read_over_memcpy"] = read_s / copy_s;
  state.counters["write_ns_per_item"] =
      1e9 * write_s / static_cast<double>(state.iterations()) / static_cast<double>(source.size());
}

void n_bit_codes(benchmark::State& state) {
  const int bits = static_cast<int>(state.range(0));
  std::vector<std::int8_t> codes(entries);
  const std::vector<float> uniform = uniform_entries();
  for (std::size_t i = 0; i < entries; ++i) codes[i] = static_cast<std::int8_t>(uniform[i] * 3 - 1);
  std::vector<std::uint8_t> packed(static_cast<std::size_t>(packed_code_bytes(entries, bits)));
  std::vector<std::int8_t> unpacked(entries);
  measure(
      state, codes, [&] { pack_codes(codes, bits, packed); }, [&] { unpack_codes(packed, bits, unpacked); });
}

void signs(benchmark::State& state) {
  std::vector<float> values = uniform_entries();
  for (float& value : values) value -= 0.5F;
  std::vector<std::uint8_t> packed(static_cast<std::size_t>(sign_bytes(entries)));
  std::vector<std::int8_t> unpacked(entries);
  measure(
      state, values, [&] { pack_signs(values, packed); }, [&] { unpack_signs(packed, unpacked); });
}

// Codes the indices of one random entry in state.range(0).
void index_code(benchmark::State& state, const char* name) {
  const std::vector<float> uniform = uniform_entries();
  std::vector<std::uint32_t> indices;
  for (std::size_t i = 0; i < entries; ++i) {
    if (uniform[i] * static_cast<float>(state.range(0)) < 1) indices.push_back(static_cast<std::uint32_t>(i));
  }
  const auto code = make_index_code(name);
  std::vector<std::uint8_t> message;
  std::vector<std::uint32_t> read;
  measure(
      state, indices,
      [&] {
        message.clear();
        code->append(indices, entries, message);
      },
      [&] { code->read(message, entries, static_cast<std::uint32_t>(indices.size()), read); });
}

BENCHMARK(n_bit_codes)->Arg(2)->Arg(4)->Unit(benchmark::kMillisecond)->Iterations(10);
BENCHMARK(signs)->Unit(benchmark::kMillisecond)->Iterations(10);
BENCHMARK_CAPTURE(index_code, bitmap, "bitmap")
    ->Arg(10)
    ->Arg(100)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(10);
BENCHMARK_CAPTURE(index_code, golomb, "golomb")
    ->Arg(10)
    ->Arg(100)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(10);
BENCHMARK_CAPTURE(index_code, huffman, "huffman")
    ->Arg(10)
    ->Arg(100)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(10);
BENCHMARK_CAPTURE(index_code, run_length, "run_length")
    ->Arg(10)
    ->Arg(100)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(10);
BENCHMARK_CAPTURE(index_code, u16, "u16")->Arg(10)->Arg(100)->Unit(benchmark::kMillisecond)->Iterations(10);

}  // namespace
}  // namespace thinpipe::trainer

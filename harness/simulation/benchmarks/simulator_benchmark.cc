// SPDX-License-Identifier: Apache-2.0
// Measures the time to simulate an iteration, by the number of workers: a dense all-reduce of 25 MiB around a
// ring and along a tree of the islands, and an all-gather of a hundredth of it from each worker.
#include "harness/simulation/simulator.hh"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "netem/topology/frame.hh"
#include "netem/topology/reduction_tree.hh"
#include "netem/topology/topology_format.hh"

namespace thinpipe {
namespace {

constexpr double rate_bit_per_s = 100e6;
constexpr std::int64_t elements = 25 * (std::int64_t{1} << 20) / 4;

// Returns three switches in a row, with a third of the hosts at each, like topologies/three-switch.json.
netem::Topology three_switch(int hosts) {
  Json value = {{"name", "three-switch"},
                {"switches", {"left", "middle", "right"}},
                {"hosts", Json::array()},
                {"links", Json::array()}};
  for (int i = 0; i < hosts; ++i) {
    const std::string name = fmt::format("w{}", i);
    value["hosts"].push_back(name);
    value["links"].push_back(
        {{"between", {name, value["switches"][static_cast<std::size_t>(3 * i / hosts)]}}});
  }
  for (const std::size_t i : {0U, 1U}) {
    value["links"].push_back({{"between", {value["switches"][i], value["switches"][i + 1]}},
                              {"rate", "100 Mbit/s"},
                              {"bottleneck", true}});
  }
  return netem::parse_topology(value, {"benchmark", ""});
}

void simulate(benchmark::State& state, const CollectiveCall& call, double min_bytes_over_cut,
              bool along_tree = false) {
  const auto workers = static_cast<int>(state.range(0));
  const netem::Topology topology = three_switch(workers);
  CommunicationTrace trace{
      .world_size = workers, .parameters = {{"weight", elements}}, .layouts = {{{.parameters = {0}}}}};
  trace.exchanges.push_back({.buckets = {{call}}});
  for (int rank = 0; rank < workers; ++rank) trace.workers.push_back({{0, 1}});
  const ComputeTimes times = {.ready_s = {0}};
  CollectiveRouting routing;
  if (along_tree)
    routing.reduction_tree = netem::reduction_tree_of(topology, static_cast<std::size_t>(workers));
  const Simulator simulator(topology, trace, times, routing);
  const JointStep step(static_cast<std::size_t>(workers), 0U);
  double iteration_time_s = 0;
  for (auto _ : state) iteration_time_s = simulator.iterate(step).iteration_time_s;
  const double min_s = 8 * min_bytes_over_cut / netem::goodput_of_cap / rate_bit_per_s;
  state.counters["iteration_s"] = iteration_time_s;
  state.counters["over_least"] = iteration_time_s / min_s;
}

// Each link of the ring carries 2(N-1)/N of the tensor, once over each cut in each direction.
void ring_all_reduce(benchmark::State& state) {
  const auto workers = static_cast<double>(state.range(0));
  simulate(state, AllReduceCall{.elements = elements}, 2 * (workers - 1) / workers * 4 * elements);
}

// Each link between switches carries the tensor once in each direction.
void tree_all_reduce(benchmark::State& state) {
  simulate(state, AllReduceCall{.elements = elements}, 4 * static_cast<double>(elements), true);
}

// Each link of the ring carries all blocks but one.
void ring_all_gather(benchmark::State& state) {
  const std::int64_t own = elements / 100;
  const auto workers = static_cast<double>(state.range(0));
  const std::vector<std::int64_t> counts(static_cast<std::size_t>(state.range(0)), own);
  simulate(state, AllGatherCall{.type = ElementType::float32, .counts = counts},
           (workers - 1) * 4 * static_cast<double>(own));
}

BENCHMARK(ring_all_reduce)->Arg(8)->Arg(64)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK(tree_all_reduce)->Arg(8)->Arg(64)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK(ring_all_gather)->Arg(8)->Arg(64)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace thinpipe

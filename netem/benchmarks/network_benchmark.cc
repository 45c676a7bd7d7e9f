// SPDX-License-Identifier: Apache-2.0
// Measures how long a network takes to build and tear down, how much of its caps it delivers, and the CPU
// time that this costs.
#include "netem/network.hh"

#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include "netem/kernel/probe.hh"
#include "netem/kernel/sandbox.hh"

namespace thinpipe::netem {
namespace {

// Returns a topology like topologies/three-switch.json, but with `hosts` hosts: three switches in a row, with
// a third of the hosts at each.
Topology three_switch(std::int64_t hosts, double rate_bit_per_s) {
  Topology topology{.name = "three-switch", .switches = {"left", "middle", "right"}};
  for (std::int64_t i = 0; i < hosts; ++i) {
    topology.hosts.push_back(fmt::format("w{}", i));
    topology.links.push_back(
        {.a = topology.hosts.back(), .b = topology.switches[static_cast<std::size_t>(3 * i / hosts)]});
  }
  for (const std::size_t i : {0U, 1U}) {
    topology.links.push_back({.a = topology.switches[i],
                              .b = topology.switches[i + 1],
                              .forward = {.rate_bit_per_s = rate_bit_per_s},
                              .backward = {.rate_bit_per_s = rate_bit_per_s},
                              .bottleneck = true});
  }
  return topology;
}

void build_and_tear_down(benchmark::State& state) {
  const Topology topology = three_switch(state.range(0), 100e6);
  for (auto unused : state) {
    const Network network(topology);
    benchmark::DoNotOptimize(&network);
  }
}
BENCHMARK(build_and_tear_down)->Arg(8)->Arg(64)->Arg(512)->Unit(benchmark::kMillisecond)->UseRealTime();

void build(benchmark::State& state) {
  const Topology topology = three_switch(state.range(0), 100e6);
  for (auto unused : state) {
    auto network = std::make_unique<Network>(topology);
    state.PauseTiming();
    network.reset();
    state.ResumeTiming();
  }
}
BENCHMARK(build)->Arg(8)->Unit(benchmark::kMillisecond)->UseRealTime();

// A run does this every few milliseconds, on the cores that the workers compute on.
void read_counters(benchmark::State& state, Queueing queueing) {
  Topology topology = three_switch(8, 100e6);
  for (Link& link : topology.links) {
    if (link.bottleneck) link.forward.queueing = link.backward.queueing = queueing;
  }
  const Network network(topology);
  for (auto unused : state) benchmark::DoNotOptimize(network.counters());
}
BENCHMARK_CAPTURE(read_counters, fifo, Queueing::fifo)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK_CAPTURE(read_counters, fair, Queueing::fair)->Unit(benchmark::kMicrosecond)->UseRealTime();

// Returns all CPUs' busy time since the machine started, including the kernel and interrupts. The first line
// of /proc/stat is "cpu", user, nice, system, idle, iowait, irq, softirq.
double busy_s() {
  std::ifstream file("/proc/stat");
  std::string name;
  double ticks = 0;
  double busy_ticks = 0;
  file >> name;
  for (int field = 0; field < 7 && file >> ticks; ++field) {
    if (field != 3 && field != 4) busy_ticks += ticks;
  }
  return busy_ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// Measures goodput as a share of the cap's, 1.5 s per measurement, and the CPU time per gigabyte. The
// arguments are the cap in Mbit/s and the number of flows. For the CPU time nothing else may run.
void goodput(benchmark::State& state) {
  const double cap = 1e6 * static_cast<double>(state.range(0));
  const Network network(three_switch(8, cap));
  constexpr GoodputOptions options;
  double sum = 0;
  const double busy_before_s = busy_s();
  for (auto unused : state) {
    const std::vector<std::pair<const Host*, const Host*>> flows(static_cast<std::size_t>(state.range(1)),
                                                                 {&network.host("w0"), &network.host("w7")});
    for (const double flow : measure_goodput(flows)) sum += flow;
  }
  const double bytes = sum / 8 * (options.settle_s + options.measure_s);
  state.counters["core_s_per_GB"] = 1e9 * (busy_s() - busy_before_s) / bytes;
  state.counters["ratio"] = sum / static_cast<double>(state.iterations()) / cap / goodput_of_cap;
}
BENCHMARK(goodput)
    ->ArgNames({"Mbit", "flows"})
    ->ArgsProduct({{100, 500, 1000}, {1, 4}})
    ->Iterations(1)
    ->Repetitions(5)
    ->ReportAggregatesOnly()
    ->Unit(benchmark::kSecond)
    ->UseRealTime();

}  // namespace
}  // namespace thinpipe::netem

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv, argv + argc);
  try {
    if (!thinpipe::netem::inside_sandbox()) return thinpipe::netem::run_in_sandbox(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

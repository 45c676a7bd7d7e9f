// Measures all-reduce times over the paper's emulated network, relative to the lower bound for their bytes,
// by backend, cap, size and number of workers. It compares our backends, PyTorch's own all_reduce in the same
// network and run, the simulation, and sums of ternary codes. Workers are separate programs (worker.cc,
// peer.py) on the network's hosts.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "common/support/child_process.hh"
#include "common/support/json_object.hh"
#include "harness/machine/cpu_usage.hh"
#include "netem/kernel/sandbox.hh"
#include "netem/network.hh"
#include "netem/topology/frame.hh"
#include "netem/topology/reduction_tree.hh"
#include "trainer/collectives/benchmarks/exchange/crowd.hh"
#include "trainer/collectives/benchmarks/exchange/simulated.hh"

namespace thinpipe {
namespace {

constexpr const char* pytorch = "pytorch";
constexpr const char* simulated = "simulated";

struct Options {
  std::vector<double> rates_mbit_per_s = {100, 500, 1000};
  std::vector<double> sizes_mb = {25, 100};
  std::vector<std::string> ways = {"island", "ring", "gloo", pytorch};
  std::vector<int> crowds = {1};
  int max_workers = 64;
  bool in_ms = false;
  double burst_us = 256;
  int repetitions = 3;
  std::string topology = THINPIPE_SOURCE_DIR "/topologies/three-switch.json";
};

// One worker's times over all repetitions.
struct Timing {
  std::vector<double> seconds;
  double machine_busy_s = 0;
};

ChildProcess start_worker(const std::string& way, const netem::Network& network, int rank,
                          const std::vector<std::string>& more, int output) {
  const netem::Host& host = network.hosts()[static_cast<std::size_t>(rank)];
  const std::vector<int> parents = netem::reduction_tree_of(network.topology(), network.hosts().size());
  std::vector<std::string> arguments;
  if (way == pytorch) {
    arguments = {"/usr/bin/python3", "-B",
                 THINPIPE_SOURCE_DIR "/trainer/collectives/benchmarks/exchange/peer.py"};
  } else {
    const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe");
    arguments = {own.parent_path() / "exchange_worker", "--way", way, "--parents",
                 fmt::format("{}", fmt::join(parents, ","))};
  }
  arguments.insert(arguments.end(), {"--rank", std::to_string(rank), "--world-size",
                                     std::to_string(network.hosts().size()), "--address", host.address});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return ChildProcess({.arguments = arguments,
                       .standard_output = output,
                       .environment = {{"GLOO_SOCKET_IFNAME", "eth0"}, {"OMP_NUM_THREADS", "1"}},
                       .before_exec = [&host] { host.enter(); }});
}

// Returns the times of each worker.
std::vector<Timing> measure(const netem::Network& network, const std::string& way, std::int64_t elements,
                            int repetitions) {
  std::string directory = std::filesystem::temp_directory_path() / "thinpipe-exchange-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) throw SystemError("create directory " + directory, errno);
  const std::vector<std::string> more = {"--rendezvous",  directory,
                                         "--elements",    std::to_string(elements),
                                         "--repetitions", std::to_string(repetitions)};
  std::vector<ChildProcess> workers;
  std::vector<Pipe> outputs;
  for (int rank = 0; std::cmp_less(rank, network.hosts().size()); ++rank) {
    outputs.push_back(Pipe::create());
    workers.push_back(start_worker(way, network, rank, more, outputs.back().write_end.get()));
    outputs.back().write_end.reset();
  }
  std::vector<Timing> timings;
  for (std::size_t rank = 0; rank < workers.size(); ++rank) {
    const std::string output = read_to_end(outputs[rank].read_end, "read a worker's times");
    const ExitStatus status = workers[rank].wait();
    if (!status.ok()) throw Error(fmt::format("{}: worker {} ended with {}", way, rank, status.describe()));
    const Json json = Json::parse(output);
    timings.push_back({.seconds = json.at("seconds").get<std::vector<double>>(),
                       .machine_busy_s = json.at("busy_s").get<double>()});
  }
  std::filesystem::remove_all(directory);
  return timings;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Returns the time until the last worker has the sum: the median over repetitions.
double time_s(const std::vector<Timing>& timings) {
  std::vector<double> slowest = timings.front().seconds;
  for (const Timing& timing : timings) {
    for (std::size_t i = 0; i < slowest.size(); ++i) slowest[i] = std::max(slowest[i], timing.seconds[i]);
  }
  return median(slowest);
}

// Calls visit() for the networks of a table, one after another.
void for_each_network(const Options& options, const auto& visit) {
  for (const int crowd : options.crowds) {
    for (const double rate_mbit_per_s : options.rates_mbit_per_s) {
      netem::Topology topology = crowded(netem::load_topology(options.topology), crowd);
      netem::set_bottleneck_rate(topology, 1e6 * rate_mbit_per_s, Place{"--rates", ""});
      if (options.burst_us > 0)
        netem::set_bottleneck_burst(topology, 1e-6 * options.burst_us, Place{"--burst", ""});
      visit(topology, rate_mbit_per_s);
    }
  }
}

// Formats a time for the table.
std::string told(const Options& options, double time_s, double min_s) {
  return options.in_ms ? fmt::format("{:.2f}", 1e3 * time_s) : fmt::format("{:.2f}", time_s / min_s);
}

// Returns the time and its CPU time. network: the topology's; nullopt if it has too many workers to run.
std::string cell(const Options& options, const netem::Topology& topology,
                 const std::optional<netem::Network>& network, const std::string& way, std::int64_t elements,
                 double min_s) {
  if (way == simulated) return told(options, simulated_time_s(topology, elements), min_s);
  if (!network) return "–";
  const std::vector<Timing> timings = measure(*network, way, elements, options.repetitions);
  const std::string time = told(options, time_s(timings), min_s);
  if (options.in_ms) return time;
  const double gigabytes = 4e-9 * static_cast<double>(elements) * options.repetitions;
  return fmt::format("{} ({:.1f} s/GB)", time, timings.front().machine_busy_s / gigabytes);
}

void print_table(const Options& options) {
  fmt::print("| workers | cap (Mbit/s) | vector (MB) | lower bound (s) | {} |\n",
             fmt::join(options.ways, " | "));
  fmt::print("|{}\n", fmt::join(std::vector<std::string>(4 + options.ways.size(), " ---: |"), ""));
  const double stolen_before_s = read_machine_time().stolen_s;
  for_each_network(options, [&](const netem::Topology& topology, double rate_mbit_per_s) {
    std::optional<netem::Network> network;
    if (std::cmp_less_equal(topology.hosts.size(), options.max_workers)) network.emplace(topology);
    for (const double size_mb : options.sizes_mb) {
      const auto elements = static_cast<std::int64_t>(1e6 * size_mb / 4);
      const double min_s =
          8 * 4 * static_cast<double>(elements) / (1e6 * rate_mbit_per_s * netem::goodput_of_cap);
      fmt::print("| {} | {:.0f} | {:g} | {:.3g} |", topology.hosts.size(), rate_mbit_per_s, size_mb, min_s);
      for (const std::string& way : options.ways) {
        fmt::print(" {} |", cell(options, topology, network, way, elements, min_s));
        std::fflush(stdout);
      }
      fmt::print("\n");
    }
  });
  fmt::print(
      "\nTime until the last worker has the sum, {}. Medians of {} repetitions; {}; {:.1f} s of steal time "
      "on this machine.\n",
      options.in_ms ? "in ms"
                    : "relative to the lower bound (the vector crosses a bottleneck once); in parentheses, "
                      "the whole machine's CPU time per gigabyte of vector",
      options.repetitions, std::filesystem::path(options.topology).stem().string(),
      read_machine_time().stolen_s - stolen_before_s);
}

int run(int argc, char** argv) {
  CLI::App program(
      "Measures all-reduce times over the emulated network, relative to the lower bound for their bytes");
  Options options;
  program.add_option("--rates", options.rates_mbit_per_s, "Caps of the bottlenecks, in Mbit/s")
      ->capture_default_str();
  program.add_option("--sizes", options.sizes_mb, "Sizes of the float32 vectors, in MB")
      ->capture_default_str();
  program
      .add_option(
          "--ways", options.ways,
          "Backends; also pytorch: torch.distributed's, of python3-torch; simulated: without a run; ternary: "
          "codes drawn for the vector, summed along the reduction tree and expanded, one step after the "
          "other; ternary-pieces: the same piece by piece, with other pieces in flight")
      ->capture_default_str();
  program
      .add_option("--crowds", options.crowds, "Numbers of workers that replace each worker of the topology")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  program.add_option("--most-workers", options.max_workers, "Only simulate networks with more workers")
      ->capture_default_str();
  program
      .add_option("--burst", options.burst_us, "Bursts of the caps in us, at least 4 kB; 0: the topology's")
      ->capture_default_str();
  program.add_flag("--milliseconds", options.in_ms,
                   "Print times in ms instead of relative to the lower bound: for very small vectors");
  program.add_option("--repetitions", options.repetitions)->capture_default_str()->check(CLI::PositiveNumber);
  program.add_option("--topology", options.topology, "Topology file")->capture_default_str();
  CLI11_PARSE(program, argc, argv);
  if (!netem::inside_sandbox()) return netem::run_in_sandbox({argv, argv + argc});
  print_table(options);
  return 0;
}

}  // namespace
}  // namespace thinpipe

int main(int argc, char** argv) {
  try {
    return thinpipe::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "exchange_benchmark: {}\n", error.what());
    return 1;
  }
}

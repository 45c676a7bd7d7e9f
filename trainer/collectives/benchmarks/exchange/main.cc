// SPDX-License-Identifier: Apache-2.0
// Measures all-reduce times over the paper's emulated network, relative to the lower bound for their bytes,
// by backend, cap, size and number of workers. It compares our backends, PyTorch's and MPI libraries' all-reduce
// in the same network and run, the simulation, sums of ternary codes, and single messages. Workers are separate programs
// (worker.cc, peer.py, mpi_worker.cc) on the network's hosts.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/support/json_object.hh"
#include "harness/machine/cpu_usage.hh"
#include "harness/records/provenance.hh"
#include "netem/kernel/sandbox.hh"
#include "netem/network.hh"
#include "netem/topology/frame.hh"
#include "netem/topology/topology_format.hh"
#include "netem/topology/topology_settings.hh"
#include "trainer/collectives/benchmarks/exchange/crowd.hh"
#include "trainer/collectives/benchmarks/exchange/measurement.hh"
#include "trainer/collectives/benchmarks/exchange/simulated.hh"

namespace thinpipe {
namespace {

constexpr const char* simulated = "simulated";
constexpr std::string_view polling = "-polling";  // ends the name of a way
constexpr const char* no_value = "–";

// Smaller traffic consists of the packets that start the workers.
constexpr double min_judged_bytes = 1e6;

struct Options {
  std::vector<double> rates_mbit_per_s = {100, 500, 1000};
  std::vector<double> sizes_mb = {25, 100};
  std::vector<std::string> ways = {"island", "ring", "gloo", "pytorch", "pytorch2", "openmpi", "mpich"};
  std::string current_pytorch;
  std::vector<int> crowds = {1};
  int max_workers = 64;
  bool in_ms = false;
  double burst_us = 256;
  int repetitions = 3;
  std::string topology = THINPIPE_SOURCE_DIR "/topologies/three-switch.json";
};

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

// A way's library and traffic, over all measurements of a table.
struct Library {
  std::string name;
  double busiest_sent_bytes = 0;  // sum over measurements, each at the capped direction that sent most
  double summed_bytes = 0;
};

// The cells of one table.
class Table {
 public:
  explicit Table(const Options& options) : options_(options) {
    for (const std::string& way : options.ways) {
      if (way == simulated) continue;
      if (const auto obstacle = obstacle_to(job(way, 0))) obstacles_[way] = *obstacle;
    }
  }

  // Returns the time and its CPU time. network: the topology's; nullopt if it has too many workers to run.
  std::string cell(const netem::Topology& topology, const std::optional<netem::Network>& network,
                   const std::string& way, std::int64_t elements, double min_s) {
    if (way == simulated) return told(options_, simulated_time_s(topology, elements), min_s);
    if (obstacles_.contains(way)) return "not installed";
    if (!network) return no_value;
    const Measurement measured = measure(*network, job(way, elements));
    add(libraries_[way], measured);
    const std::string time = told(options_, measured.time_s, min_s);
    if (options_.in_ms) return time;
    const double gigabytes = 4e-9 * static_cast<double>(elements) * options_.repetitions;
    return fmt::format("{} ({:.1f} s/GB)", time, measured.machine_busy_s / gigabytes);
  }

  // Prints each way's library and traffic.
  void print_libraries() const {
    fmt::print(
        "\n| way | library | bytes on the busiest capped link, per byte of vector |\n| :--- | :--- | ---: |\n");
    for (const std::string& way : options_.ways) {
      if (obstacles_.contains(way)) {
        fmt::print("| {} | not installed: {} | {} |\n", way, obstacles_.at(way), no_value);
      } else if (libraries_.contains(way)) {
        const Library& library = libraries_.at(way);
        const bool judged = library.summed_bytes >= min_judged_bytes && library.busiest_sent_bytes > 0;
        fmt::print(
            "| {} | {} | {} |\n", way, library.name,
            judged ? fmt::format("{:.2f}", library.busiest_sent_bytes / library.summed_bytes) : no_value);
      }
    }
  }

 private:
  ExchangeJob job(const std::string& way, std::int64_t elements) const {
    const bool polls = way.ends_with(polling);
    return {.way = polls ? way.substr(0, way.size() - polling.size()) : way,
            .elements = elements,
            .repetitions = options_.repetitions,
            .current_pytorch = options_.current_pytorch,
            .without_yields = polls};
  }

  static void add(Library& library, const Measurement& measured) {
    library.name = measured.library;
    library.summed_bytes += measured.summed_bytes;
    if (!measured.sent_bytes.empty()) library.busiest_sent_bytes += std::ranges::max(measured.sent_bytes);
  }

  const Options& options_;
  std::map<std::string, std::string> obstacles_;  // by way
  std::map<std::string, Library> libraries_;      // by way
};

// Prints the line that also stands under tables of records.
void print_origin() {
  const Json origin = describe_program_and_machine();
  const auto& cpu = origin.at("cpu");
  fmt::print("\nexchange_benchmark · cpu {} ({} cores) · commit {}{} · run on {}\n",
             cpu.is_string() ? cpu.get<std::string>() : "unknown", origin.at("cores").get<int>(),
             origin.at("git_commit").get<std::string>().substr(0, 10),
             origin.at("dirty").get<bool>() ? " + uncommitted changes" : "", utc_now().substr(0, 10));
}

void print_table(const Options& options) {
  fmt::print("| workers | cap (Mbit/s) | vector (MB) | lower bound (s) | {} |\n",
             fmt::join(options.ways, " | "));
  fmt::print("|{}\n", fmt::join(std::vector<std::string>(4 + options.ways.size(), " ---: |"), ""));
  const double stolen_before_s = read_machine_time().stolen_s;
  Table table(options);
  for_each_network(options, [&](const netem::Topology& topology, double rate_mbit_per_s) {
    std::optional<netem::Network> network;
    if (std::cmp_less_equal(topology.hosts.size(), options.max_workers)) network.emplace(topology);
    for (const double size_mb : options.sizes_mb) {
      const auto elements = static_cast<std::int64_t>(1e6 * size_mb / 4);
      const double min_s =
          8 * 4 * static_cast<double>(elements) / (1e6 * rate_mbit_per_s * netem::goodput_of_cap);
      fmt::print("| {} | {:.0f} | {:g} | {:.3g} |", topology.hosts.size(), rate_mbit_per_s, size_mb, min_s);
      for (const std::string& way : options.ways) {
        fmt::print(" {} |", table.cell(topology, network, way, elements, min_s));
        std::fflush(stdout);
      }
      fmt::print("\n");
    }
  });
  fmt::print(
      "\nTime from the last worker's begin until the last one has the result, {}. Medians of {} repetitions; {}; "
      "{:.1f} s of steal time on this machine.\n",
      options.in_ms ? "in ms"
                    : "relative to the lower bound (the vector crosses a bottleneck once); in parentheses, "
                      "the whole machine's CPU time per gigabyte of vector",
      options.repetitions, std::filesystem::path(options.topology).stem().string(),
      read_machine_time().stolen_s - stolen_before_s);
  table.print_libraries();
  print_origin();
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
          "Backends; also pytorch: torch.distributed's, of python3-torch; pytorch2: the same of "
          "--current-pytorch; openmpi, mpich: MPI_Allreduce over TCP, if the library is installed; simulated: "
          "without a run; pairs, circle, everyone: no sum, but the vector as a message to the worker halfway around "
          "the circle or to the next one, or a part of it to each worker; ternary: codes drawn for the vector, "
          "summed along the reduction tree and expanded, one step after the other; ternary-pieces: the same piece by "
          "piece, with other pieces in flight; "
          "gloo-polling, pytorch-polling, pytorch2-polling: Gloo's threads poll as if each had a core")
      ->capture_default_str();
  program
      .add_option("--current-pytorch", options.current_pytorch,
                  "Python interpreter with PyTorch 2.x, such as scripts/current_pytorch.sh prints")
      ->envname("THINPIPE_CURRENT_PYTORCH");
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

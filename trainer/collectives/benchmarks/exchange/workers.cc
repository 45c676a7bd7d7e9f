// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/benchmarks/exchange/workers.hh"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "common/support/child_process.hh"
#include "common/support/json_object.hh"
#include "netem/preload/preloaded.hh"
#include "netem/topology/reduction_tree.hh"
#include "trainer/collectives/benchmarks/exchange/mpi_job.hh"

namespace thinpipe {
namespace {

constexpr const char* debians_pytorch = "pytorch";
constexpr const char* current_pytorch = "pytorch2";
constexpr const char* debians_python = "/usr/bin/python3";

bool has_pytorch(const char* interpreter) {
  const std::string search =
      "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)";
  return ::access(interpreter, X_OK) == 0 && run_program({interpreter, "-c", search}).status.ok();
}

// Returns the command of a worker without the options that all workers have.
std::vector<std::string> program_of(const netem::Network& network, const ExchangeJob& job) {
  if (job.way == debians_pytorch || job.way == current_pytorch) {
    return {job.way == debians_pytorch ? debians_python : job.current_pytorch, "-B",
            THINPIPE_SOURCE_DIR "/trainer/collectives/benchmarks/exchange/peer.py"};
  }
  const std::vector<int> parents = netem::reduction_tree_of(network.topology(), network.hosts().size());
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe");
  return {own.parent_path() / "exchange_worker", "--way", job.way, "--parents",
          fmt::format("{}", fmt::join(parents, ","))};
}

ChildProcess start_worker(const netem::Network& network, const ExchangeJob& job, std::size_t rank,
                          const std::vector<std::string>& more, int output) {
  const netem::Host& host = network.hosts()[rank];
  std::vector<std::string> arguments = program_of(network, job);
  arguments.insert(arguments.end(), {"--rank", std::to_string(rank), "--world-size",
                                     std::to_string(network.hosts().size()), "--address", host.address});
  arguments.insert(arguments.end(), more.begin(), more.end());
  std::vector<std::pair<std::string, std::string>> environment;
  if (!job.without_yields) environment = netem::polling_environment();
  environment.insert(environment.end(),
                     {{"GLOO_SOCKET_IFNAME", netem::host_interface}, {"OMP_NUM_THREADS", "1"}});
  return ChildProcess(
      {.arguments = arguments, .standard_output = output, .environment = environment, .before_exec = [&host] {
         host.enter();
       }});
}

// Starts a worker on every host and returns their outputs.
Json run_separate_workers(const netem::Network& network, const ExchangeJob& job,
                          std::vector<std::string> arguments) {
  std::string directory = std::filesystem::temp_directory_path() / "thinpipe-exchange-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) throw SystemError("create directory " + directory, errno);
  arguments.insert(arguments.end(), {"--rendezvous", directory});
  std::vector<ChildProcess> workers;
  std::vector<Pipe> outputs;
  for (std::size_t rank = 0; rank < network.hosts().size(); ++rank) {
    outputs.push_back(Pipe::create());
    workers.push_back(start_worker(network, job, rank, arguments, outputs.back().write_end.get()));
    outputs.back().write_end.reset();
  }
  Json printed = Json::array();
  for (std::size_t rank = 0; rank < workers.size(); ++rank) {
    const std::string output = read_to_end(outputs[rank].read_end, "read a worker's times");
    const ExitStatus status = workers[rank].wait();
    if (!status.ok())
      throw Error(fmt::format("{}: worker {} ended with {}", job.way, rank, status.describe()));
    printed.push_back(Json::parse(output));
  }
  std::filesystem::remove_all(directory);
  return printed;
}

}  // namespace

std::optional<std::string> obstacle_to(const ExchangeJob& job) {
  if (is_mpi(job.way)) return obstacle_to_mpi(job.way);
  if (job.way == debians_pytorch && !has_pytorch(debians_python)) return "install python3-torch";
  if (job.way == current_pytorch && job.current_pytorch.empty())
    return "give --current-pytorch \"$(scripts/current_pytorch.sh)\"";
  return std::nullopt;
}

std::vector<WorkerReport> run_workers(const netem::Network& network, const ExchangeJob& job) {
  const std::vector<std::string> arguments = {"--elements", std::to_string(job.elements), "--repetitions",
                                              std::to_string(job.repetitions)};
  const Json printed = is_mpi(job.way) ? Json::parse(run_mpi_job(network, job.way, arguments))
                                       : run_separate_workers(network, job, arguments);
  std::vector<WorkerReport> reports;
  for (const Json& report : printed) {
    reports.push_back({.began_s = report.at("began_s").get<std::vector<double>>(),
                       .ended_s = report.at("ended_s").get<std::vector<double>>(),
                       .machine_busy_s = report.at("busy_s").get<double>(),
                       .library = report.at("library").get<std::string>()});
  }
  return reports;
}

}  // namespace thinpipe

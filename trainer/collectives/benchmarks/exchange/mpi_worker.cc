// SPDX-License-Identifier: Apache-2.0
// A worker of exchange_benchmark that uses an MPI library, compiled once for each. The worker of rank 0 prints the
// reports of all as one JSON array.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <dlfcn.h>
#include <fmt/format.h>
#include <mpi.h>
#include <sched.h>
#include <sys/epoll.h>

#include "common/support/exception.hh"
#include "common/support/json_object.hh"
#include "harness/machine/cpu_usage.hh"
#include "trainer/base/stopwatch.hh"

#ifdef MPICH_VERSION
// While MPICH waits, UCX polls its connections. Lets other processes have the CPU in between, as Open MPI's
// mpi_yield_when_idle does; MPICH has no such option.
extern "C" int epoll_wait(int fd, epoll_event* events, int count, int timeout_ms) {
  static const auto poll = reinterpret_cast<decltype(&epoll_wait)>(::dlsym(RTLD_NEXT, "epoll_wait"));
  const int ready = poll(fd, events, count, timeout_ms);
  if (ready == 0 && timeout_ms == 0) ::sched_yield();
  return ready;
}
#endif

namespace thinpipe {
namespace {

// Returns the library's name and version, such as "Open MPI v4.1.4" or "MPICH 4.0.2 (ch4:ucx)".
std::string library() {
  std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  text.resize(static_cast<std::size_t>(length));
  const auto value_of = [&](const std::string& label) {
    const std::size_t begin = text.find_first_not_of(" \t", text.find(label) + label.size());
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  if (text.starts_with("MPICH Version:"))
    return fmt::format("MPICH {} ({})", value_of("MPICH Version:"), value_of("MPICH Device:"));
  return text.substr(0, text.find_first_of(",\n"));
}

void sum(std::vector<float>& values) {
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM,
                MPI_COMM_WORLD);
}

// Returns the reports of all workers at rank 0, elsewhere an empty array.
Json gather(const std::vector<double>& began_s, const std::vector<double>& ended_s, double busy_s) {
  int rank = 0;
  int workers = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &workers);
  std::vector<double> own = began_s;
  own.insert(own.end(), ended_s.begin(), ended_s.end());
  own.push_back(busy_s);
  const auto length = static_cast<int>(own.size());
  std::vector<double> all(rank == 0 ? own.size() * static_cast<std::size_t>(workers) : 0);
  MPI_Gather(own.data(), length, MPI_DOUBLE, all.data(), length, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  Json reports = Json::array();
  const auto repetitions = static_cast<int>(began_s.size());
  for (auto at = all.begin(); at != all.end(); at += length) {
    reports.push_back({{"began_s", std::vector<double>(at, at + repetitions)},
                       {"ended_s", std::vector<double>(at + repetitions, at + 2 * repetitions)},
                       {"busy_s", *(at + length - 1)},
                       {"library", library()}});
  }
  return reports;
}

void work(std::int64_t elements, int repetitions) {
  if (elements > std::numeric_limits<int>::max())
    throw Error("MPI counts elements in an int: use smaller vectors");
  std::vector<float> values(static_cast<std::size_t>(elements), 1);
  sum(values);
  int workers = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &workers);
  if (std::ranges::count(values, static_cast<float>(workers)) != elements)
    throw Error(library() + " gives a wrong sum");
  std::vector<double> began_s;
  std::vector<double> ended_s;
  const double busy_before_s = read_machine_time().busy_s;
  for (int i = 0; i < repetitions; ++i) {
    std::ranges::fill(values, 1.0F);
    MPI_Barrier(MPI_COMM_WORLD);
    began_s.push_back(trainer::Stopwatch::monotonic_s());
    sum(values);
    ended_s.push_back(trainer::Stopwatch::monotonic_s());
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const Json reports = gather(began_s, ended_s, read_machine_time().busy_s - busy_before_s);
  if (!reports.empty()) fmt::print("{}\n", reports.dump());  // rank 0
}

int run(int argc, char** argv) {
  CLI::App program(
      "A worker of exchange_benchmark that uses an MPI library; start it with that library's mpirun");
  std::int64_t elements = 0;
  int repetitions = 0;
  program.add_option("--elements", elements)->required();
  program.add_option("--repetitions", repetitions)->required();
  CLI11_PARSE(program, argc, argv);
  MPI_Init(nullptr, nullptr);
  work(elements, repetitions);
#ifdef MPICH_VERSION
  // MPI_Finalize may hang: UCX waits forever for TCP connections to close (openucx/ucx issue 8738). So all exit
  // without it when the last one is done.
  std::fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  std::_Exit(0);
#endif
  MPI_Finalize();
  return 0;
}

}  // namespace
}  // namespace thinpipe

int main(int argc, char** argv) {
  try {
    return thinpipe::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "exchange_mpi_worker: {}\n", error.what());
    int started = 0;
    MPI_Initialized(&started);
    if (started != 0) MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
  }
}

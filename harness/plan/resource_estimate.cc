// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/resource_estimate.hh"

#include <algorithm>
#include <fstream>
#include <thread>

#include <fmt/format.h>

#include "common/support/readable.hh"

namespace thinpipe {

Machine this_machine() {
  Machine machine{.cores = std::max(1.0, static_cast<double>(std::thread::hardware_concurrency()))};
  std::ifstream file("/proc/meminfo");  // "MemAvailable:   123 kB"
  std::string name;
  double kibibytes = 0;
  std::string unit;
  while (file >> name >> kibibytes && std::getline(file, unit)) {
    if (name == "MemAvailable:") machine.free_memory_bytes = 1024 * kibibytes;
  }
  return machine;
}

ResourceEstimate estimate_resources(const Json& plan, std::int64_t workers, const ComputeCost& cost,
                                    double exchange_s, const Machine& machine) {
  const auto all = static_cast<double>(workers);
  const double sent_bytes = all * plan.at("sent_bytes_per_iteration").get<double>();
  const double all_cpu_s = cost.sleeps ? 0 : all * cost.compute_s;
  const double shared_compute_s = std::max(cost.compute_s, all_cpu_s / machine.cores);
  const double waits_s = predict_iteration_s(plan, shared_compute_s, exchange_s);
  // However much the two overlap, the cores must do all of the compute and all of the network's work.
  const double work_s = (all_cpu_s + sent_bytes * core_s_per_byte) / machine.cores;
  const double iteration_s = std::max(waits_s, work_s);
  return {.iteration_s = iteration_s,
          .network_cores = iteration_s > 0 ? sent_bytes * core_s_per_byte / iteration_s : 0,
          .memory_bytes = all * cost.memory_bytes};
}

ResourceEstimate estimate_resources(const Run& run, const ComputeCost& cost, const Machine& machine) {
  const auto exchange = predict_exchange(run);
  Json plan = run.training->plan;
  // A convergence run is one process and sends nothing.
  const bool sends = run.mode != Mode::converge && runs_workers_here(run);
  plan["sent_bytes_per_iteration"] = sends ? sent_bytes_per_iteration(run) : 0.0;
  // In a cluster, each worker has a machine like this one.
  const std::int64_t workers = run.mode == Mode::cluster ? 1 : run.workers;
  return estimate_resources(plan, workers, cost, exchange ? exchange->time_s : 0, machine);
}

bool runs_workers_here(const Run& run) {
  return run.mode != Mode::simulate || !run.profile || run.needs_network;
}

std::optional<std::string> shortfall(const ResourceEstimate& resources, std::int64_t workers,
                                     const Machine& machine, int runs) {
  const double memory_bytes = runs * resources.memory_bytes;
  if (memory_bytes > machine.free_memory_bytes) {
    return fmt::format("needs {} of memory, but only {} is free", format_bytes(memory_bytes),
                       format_bytes(machine.free_memory_bytes));
  }
  const double cores =
      runs == 1 ? resources.network_cores : runs * (resources.network_cores + static_cast<double>(workers));
  constexpr double tolerance = 1.05;  // a prediction is not exact
  if (cores > tolerance * machine.cores) {
    return fmt::format("needs {:.1f} cores{}, but there are {:g}", cores,
                       runs == 1 ? " for the network alone" : "", machine.cores);
  }
  return std::nullopt;
}

}  // namespace thinpipe

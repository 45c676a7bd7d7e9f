// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/cpu_pressure.hh"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>

#include "harness/machine/network_threads.hh"

namespace thinpipe {
namespace {

// Returns the text of a file in /proc; empty if it does not exist or may not be read.
std::string read_if_allowed(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::optional<double> waited_s(const std::optional<ThreadTimes>& times) {
  return times ? std::optional(times->waited_s) : std::nullopt;
}

Json share(std::optional<double> from_s, std::optional<double> to_s, double time_s) {
  if (!from_s || !to_s || time_s <= 0) return nullptr;
  return std::clamp((*to_s - *from_s) / time_s, 0.0, 1.0);
}

}  // namespace

std::optional<double> parse_pressure_s(const std::string& pressure) {
  const std::string key = " total=";
  const std::size_t end = pressure.find('\n');
  const std::size_t found = pressure.find(key);
  if (!pressure.starts_with("some ") || found >= end) return std::nullopt;
  std::istringstream number(pressure.substr(found + key.size(), end - found - key.size()));
  double total_us = 0;
  if (!(number >> total_us)) return std::nullopt;
  return 1e-6 * total_us;
}

CpuWaits read_cpu_waits() {
  return {
      .clock_s = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(),
      .controller_s = waited_s(parse_schedstat(read_if_allowed("/proc/self/schedstat"))),
      .network_s = waited_s(read_network_threads()),
      .machine_s = parse_pressure_s(read_if_allowed("/proc/pressure/cpu"))};
}

Json cpu_pressure(const CpuWaits& from, const CpuWaits& to, unsigned cpus) {
  const double time_s = to.clock_s - from.clock_s;
  return {{"controller", share(from.controller_s, to.controller_s, time_s)},
          {"network", share(from.network_s, to.network_s, time_s * cpus)},
          {"machine", share(from.machine_s, to.machine_s, time_s)}};
}

}  // namespace thinpipe

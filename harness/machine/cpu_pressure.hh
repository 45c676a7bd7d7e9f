// SPDX-License-Identifier: Apache-2.0
// How long threads that the measurement depends on were ready to run but had to wait for a CPU.
#pragma once

#include <optional>
#include <string>

#include "common/support/json_object.hh"

namespace thinpipe {

// Waiting times since boot or since the threads' start, in seconds. nullopt if the kernel does not tell.
struct CpuWaits {
  double clock_s = 0;                  // the monotonic clock
  std::optional<double> controller_s;  // this process's main thread, which samples and changes the network
  std::optional<double> network_s;     // the kernel's threads for delayed network work, sum over CPUs
  std::optional<double> machine_s;     // time in which any thread of the machine waited
};

CpuWaits read_cpu_waits();

// Returns {"controller", "network", "machine"}: the share of the time between two readings that each waited; of
// "network", the mean over its threads. null if unknown.
Json cpu_pressure(const CpuWaits& from, const CpuWaits& to, unsigned cpus);

// Returns the total of the line "some" of /proc/pressure/cpu, in seconds; nullopt if there is none.
std::optional<double> parse_pressure_s(const std::string& pressure);

}  // namespace thinpipe

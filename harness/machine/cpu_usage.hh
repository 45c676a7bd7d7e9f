// SPDX-License-Identifier: Apache-2.0
// CPU time of a run and of other programs. Other programs can slow a run down, so that it no longer fills its
// links.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "common/support/json_object.hh"
#include "netem/fidelity/fidelity.hh"

namespace thinpipe {

struct CpuUsage {
  double clock_s = 0;  // the monotonic clock
  // Time since boot in which CPUs were not free: programs, kernel, interrupts, and the time that a virtual
  // machine's host gave to others. Sum over CPUs.
  double machine_s = 0;
  double own_s = 0;  // of this process and its ended children
};

CpuUsage read_cpu_usage();

// The first line of /proc/stat, in seconds since boot.
struct MachineTime {
  double busy_s = 0;             // programs, kernel, interrupts
  double soft_interrupts_s = 0;  // part of busy_s; includes the network's
  double stolen_s = 0;           // not in busy_s: the time that a virtual machine's host gave to others
};
// Throws Error if it is not such a line.
MachineTime parse_machine_time(const std::string& proc_stat, double ticks_per_s);
MachineTime read_machine_time();

// Returns the share of all CPUs' time that other programs used between two readings.
double share_of_others(const CpuUsage& from, const CpuUsage& to, unsigned cpus);

// Above this share, a run is degraded.
inline constexpr double max_share_of_others = 0.1;
netem::Check check_other_programs(double share);

// Runs `measure` again while other programs use more than that share, at most three times altogether, and returns the
// last share. `measure` must leave none of its processes. It returns false if it failed, which ends the attempts;
// `again` is told of a further one.
double measure_undisturbed(const std::function<bool()>& measure,
                           const std::function<void(double share)>& again);

// The member of a measured profile's or machine's "device" with that share.
inline constexpr const char* others_share_key = "share_of_others";

// Returns it; nullopt if it is not known.
std::optional<double> others_share_of(const Json& device);

}  // namespace thinpipe

// SPDX-License-Identifier: Apache-2.0
// The resources that a run needs, and whether a machine has them. Pure, except this_machine().
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/plan/prediction.hh"

namespace thinpipe {

struct Machine {
  double cores = 1;
  double free_memory_bytes = 0;
};
Machine this_machine();

// Cost of one worker's iteration on an idle machine, as `thinpipe-trainer cost` measures it or a compute profile has it.
struct ComputeCost {
  double compute_s = 0;
  double memory_bytes = 0;  // 0 with a given profile, which has none
  bool sleeps = false;      // a worker with a given profile sleeps for this time and takes no CPU
};

struct ResourceEstimate {
  double iteration_s = 0;    // predicted, with all workers on the machine's cores
  double network_cores = 0;  // to carry what all workers send in that time over the virtual network
  double memory_bytes = 0;   // of all workers
};

// CPU time to send a byte from one host of a virtual network, through its switches and caps, and to receive
// it at another. netem_benchmark measures it as core_s_per_GB: 3.6 at 1 Gbit/s on two 2.5 GHz cores. Slower
// caps cost 9 to 12 per GB, because frames leave one at a time; but then the link is slower than the CPU.
inline constexpr double core_s_per_byte = 3.6e-9;

// Returns the resources that a run with this plan needs. `exchange_s`: lower bound on the exchange time per
// iteration; 0 if no link is capped.
ResourceEstimate estimate_resources(const Json& plan, std::int64_t workers, const ComputeCost& cost,
                                    double exchange_s, const Machine& machine);

ResourceEstimate estimate_resources(const Run& run, const ComputeCost& cost, const Machine& machine);

// Returns whether the run's workers run on this machine: those of a simulation only measure what is not given.
bool runs_workers_here(const Run& run);

// Returns why the machine cannot carry `runs` such runs at a time without degrading their measurements;
// nullopt if it can. A single run may have more workers than cores, which share what the network leaves.
std::optional<std::string> shortfall(const ResourceEstimate& resources, std::int64_t workers,
                                     const Machine& machine, int runs = 1);

}  // namespace thinpipe

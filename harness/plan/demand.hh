// What a run asks of the machine, and whether the machine has it. Pure but for asking the machine what it is.
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

// Of one worker that computes where nothing else runs; what thinpipe-trainer's "cost" measures.
struct ComputeCost {
  double compute_s = 0;
  double memory_bytes = 0;
};

struct Demand {
  double iteration_s = 0;    // predicted, with all workers on the machine's cores
  double network_cores = 0;  // to move what all workers send in that time through the virtual network
  double memory_bytes = 0;   // of all workers
};

// Processor time to send a byte from one host of a virtual network, through its switches and caps, and to
// receive it at another: what netem_benchmark measures as core_s_per_GB, 3.6 at 1 Gbit/s on two 2.5 GHz
// cores. Slower caps cost more a byte, 9 to 12, as frames then leave one at a time; but there time is the
// wire's.
inline constexpr double core_s_per_byte = 3.6e-9;

// `exchange_s`: the least time of an iteration's exchange; 0 where no link is capped.
Demand demand_of(const Json& plan, std::int64_t workers, const ComputeCost& cost, double exchange_s,
                 const Machine& machine);

Demand demand_of(const Run& run, const ComputeCost& cost, const Machine& machine);

// Why the machine cannot carry so many such runs at a time without degrading what they measure; nothing where
// it can. A single run may have more workers than there are cores: they share them, and the network has the
// first claim.
std::optional<std::string> lacks(const Demand& demand, std::int64_t workers, const Machine& machine,
                                 int runs = 1);

}  // namespace thinpipe

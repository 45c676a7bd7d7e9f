// Who uses the machine's processors: a run, or other programs, which then keep it from filling its links in
// time.
#pragma once

#include <string>

#include "netem/fidelity/fidelity.hh"

namespace thinpipe {

struct ProcessorTime {
  double clock_s = 0;    // the monotonic clock
  double machine_s = 0;  // all processors' time since the machine started that was not there for the asking:
                         // programs, kernel, interrupts, and what a virtual machine's host gave to others
  double own_s = 0;      // this process's, and its ended children's
};

ProcessorTime read_processor_time();

// The first line of /proc/stat, in seconds, since the machine started.
struct MachineTime {
  double busy_s = 0;             // programs, kernel, interrupts
  double soft_interrupts_s = 0;  // of it, among others, the network's
  double stolen_s = 0;           // beside it: of a virtual machine, what its host gave to others
};
// Throws Error when it is no such line.
MachineTime parse_machine_time(const std::string& proc_stat, double ticks_per_s);
MachineTime read_machine_time();

// How much of all processors' time others used meanwhile.
double share_of_others(const ProcessorTime& from, const ProcessorTime& to, unsigned processors);

// Above this share a run is called degraded.
inline constexpr double most_share_of_others = 0.1;
netem::Check check_other_programs(double share);

}  // namespace thinpipe

// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/cpu_usage.hh"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <thread>

#include <sys/resource.h>
#include <unistd.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"

namespace thinpipe {
namespace {

double used_s(int whose) {
  rusage usage{};
  system_call("read the CPU time of a process", ::getrusage(whose, &usage));
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

MachineTime parse_machine_time(const std::string& proc_stat, double ticks_per_s) {
  std::istringstream line(proc_stat);
  std::string cpu;
  double user = 0;
  double nice = 0;
  double system = 0;
  double idle = 0;
  double waiting = 0;
  double interrupts = 0;
  double soft_interrupts = 0;
  double stolen = 0;
  if (!(line >> cpu >> user >> nice >> system >> idle >> waiting >> interrupts >> soft_interrupts >>
        stolen) ||
      cpu != "cpu") {
    throw Error("read /proc/stat: its first line is not the sum of CPU times");
  }
  return {.busy_s = (user + nice + system + interrupts + soft_interrupts) / ticks_per_s,
          .soft_interrupts_s = soft_interrupts / ticks_per_s,
          .stolen_s = stolen / ticks_per_s};
}

MachineTime read_machine_time() {
  return parse_machine_time(read_file("/proc/stat"), static_cast<double>(::sysconf(_SC_CLK_TCK)));
}

CpuUsage read_cpu_usage() {
  const MachineTime machine = read_machine_time();
  return {
      .clock_s = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(),
      .machine_s = machine.busy_s + machine.stolen_s,
      .own_s = used_s(RUSAGE_SELF) + used_s(RUSAGE_CHILDREN)};
}

double share_of_others(const CpuUsage& from, const CpuUsage& to, unsigned cpus) {
  const double others_s = (to.machine_s - from.machine_s) - (to.own_s - from.own_s);
  const double capacity_s = (to.clock_s - from.clock_s) * cpus;
  return capacity_s > 0 ? std::max(0.0, others_s / capacity_s) : 0;
}

double measure_undisturbed(const std::function<bool()>& measure,
                           const std::function<void(double share)>& again) {
  constexpr int attempts = 3;
  for (int attempt = 1;; ++attempt) {
    const CpuUsage before = read_cpu_usage();
    if (!measure()) return 0;
    const double share = share_of_others(before, read_cpu_usage(), std::thread::hardware_concurrency());
    if (share <= max_share_of_others || attempt == attempts) return share;
    again(share);
  }
}

std::optional<double> others_share_of(const Json& device) {
  const auto share = device.find(others_share_key);
  return share != device.end() && share->is_number() ? std::optional(share->get<double>()) : std::nullopt;
}

netem::Check check_other_programs(double share) {
  return {
      .name = "CPU time of other programs",
      .asked = max_share_of_others,
      .measured = share,
      .ok = share <= max_share_of_others,
      .note = share <= max_share_of_others
                  ? ""
                  : "the run competed for the machine, with other programs or, in a virtual one, with other "
                    "machines: its times are too long"};
}

}  // namespace thinpipe

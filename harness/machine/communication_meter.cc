// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/communication_meter.hh"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>
#include <variant>

#include "common/support/exception.hh"
#include "harness/machine/network_threads.hh"

namespace thinpipe {
namespace {

double read_clock_s(clockid_t clock) {
  timespec time{};
  system_call("read the CPU time of a process", ::clock_gettime(clock, &time));
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Returns the CPU time of a process and its threads.
double cpu_time_s(pid_t pid) {
  clockid_t clock{};
  if (::clock_getcpuclockid(pid, &clock) != 0) return 0;  // it has ended
  return read_clock_s(clock);
}

}  // namespace

CommunicationMeter::CommunicationMeter(const netem::AwakeCores& awake) : awake_(awake) {
  // The fastest of some spans, with the fewest interrupts.
  constexpr int spans = 8;
  constexpr auto span = std::chrono::milliseconds(40);
  for (int i = 0; i < spans; ++i) {
    const double turns = static_cast<double>(awake_.turns());
    const double spent_s = cpu_time_s(awake_.pid());
    std::this_thread::sleep_for(span);
    const double passed_s = cpu_time_s(awake_.pid()) - spent_s;
    if (passed_s > 0) {
      turns_per_s_ = std::max(turns_per_s_, (static_cast<double>(awake_.turns()) - turns) / passed_s);
    }
  }
  if (turns_per_s_ == 0) {
    throw Error(
        "measure the CPU time of communication: other programs keep all cores busy; end them, and start the "
        "command again");
  }
}

void CommunicationMeter::take(std::int64_t rank, const Event& event) {
  if (const auto* started = std::get_if<event::Started>(&event)) {
    workers_.push_back(static_cast<pid_t>(started->pid));
  }
  if (rank != 0) return;
  if (std::holds_alternative<event::Replaying>(event) ||
      std::holds_alternative<event::ReplayedIteration>(event)) {
    readings_.push_back(read());
  } else if (const auto* replayed = std::get_if<event::Replayed>(&event)) {
    for (const event::ReplayedClass& each : replayed->classes) steps_.push_back(each.iterations);
  }
}

std::vector<CommunicationMeter::CpuTime> CommunicationMeter::class_times() const {
  if (steps_.empty()) throw Error("measure the CPU time of communication: the replay has not ended");
  std::vector<CpuTime> times;
  std::size_t first = 0;
  for (const std::int64_t steps : steps_) {
    const std::size_t last = first + static_cast<std::size_t>(steps);
    const CpuTime& from = readings_.at(first);
    const CpuTime& to = readings_.at(last);
    times.push_back({.used_s = (to.used_s - from.used_s) / static_cast<double>(steps),
                     .free_s = (to.free_s - from.free_s) / static_cast<double>(steps)});
    first = last;
  }
  return times;
}

// The kernel counts an interrupt as the time of the thread that it interrupts. A thread that keeps a CPU awake makes
// fewer turns then.
CommunicationMeter::CpuTime CommunicationMeter::read() const {
  CpuTime out{.free_s = static_cast<double>(awake_.turns()) / turns_per_s_};
  out.used_s = read_clock_s(CLOCK_PROCESS_CPUTIME_ID) + cpu_time_s(awake_.pid()) - out.free_s;
  for (const pid_t worker : workers_) out.used_s += cpu_time_s(worker);
  if (const auto threads = read_network_threads()) out.used_s += threads->ran_s;
  return out;
}

}  // namespace thinpipe

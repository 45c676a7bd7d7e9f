// SPDX-License-Identifier: Apache-2.0
// Keeps this machine's CPUs from idling. A virtual machine's host, and deep idle states, need tens to
// hundreds of microseconds to wake a CPU. Shapers then release frames late, and a link whose users only wait
// for it is slower than one whose users compute meanwhile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace thinpipe::netem {

enum class IdleCores { as_needed, kept_awake, may_sleep };

// Returns true if this machine wakes sleeping threads later than shapers can compensate for. Measures it in
// about 20 ms.
bool wakes_up_late();

// Returns the number of CPUs whose time a control group may use by the text of its cpu.max, such as "150000
// 100000" for 1.5; nullopt if it has no quota ("max 100000").
std::optional<double> cpus_in_quota(std::string_view cpu_max);

// Returns the smallest quota of the control groups, version 2, to which a process belongs; nullopt if none
// has one. `groups`: /proc/self/cgroup. `hierarchy`: where they are mounted, /sys/fs/cgroup.
std::optional<double> smallest_quota(const std::filesystem::path& groups,
                                     const std::filesystem::path& hierarchy);

// Returns why CPUs cannot be kept awake: a quota below this process's number of CPUs. The threads that keep
// them awake would use it up, and the kernel would then stop everything else, too. nullopt if there is none.
std::optional<std::string> obstacle_to_awake_cores();

// A child process with one spinning thread per CPU that this process may use. The threads yield to all
// others: they have the idle scheduling class, in a session with the smallest share of CPU time.
class AwakeCores {
 public:
  // Forks, so call it from a single-threaded process. Waits until the child has its threads: about a
  // millisecond, at most a second. Throws Error naming the attempt, also if there is an
  // obstacle_to_awake_cores() or a thread cannot be started.
  AwakeCores();
  // Ends the child. Its CPU time then counts as this process's own, like that of every child that has ended.
  ~AwakeCores();
  AwakeCores(const AwakeCores&) = delete;
  AwakeCores& operator=(const AwakeCores&) = delete;

  pid_t pid() const { return pid_; }

  // Returns the turns of all threads' loops so far. A thread turns only while its CPU has no other work, at a rate that
  // changes little, so turns measure the time that CPUs are free: more precisely than the kernel, which counts
  // interrupts as the time of the thread that they interrupt.
  std::uint64_t turns() const;

 private:
  class Turns;  // in memory that the child shares

  std::shared_ptr<Turns> turns_;
  pid_t pid_;
};

}  // namespace thinpipe::netem

// SPDX-License-Identifier: Apache-2.0
// Keeps this machine's CPUs from idling. A virtual machine's host, and deep idle states, need tens to
// hundreds of microseconds to wake a CPU. Shapers then release frames late, and a link whose users only wait
// for it is slower than one whose users compute meanwhile.
#pragma once

#include <cstdint>
#include <memory>

#include <sys/types.h>

namespace thinpipe::netem {

enum class IdleCores { as_needed, kept_awake, may_sleep };

// Returns true if this machine wakes sleeping threads later than shapers can compensate for. Measures it in
// about 20 ms.
bool wakes_up_late();

// A child process with one spinning thread per CPU that this process may use. The threads yield to all
// others: they have the idle scheduling class, in a session with the smallest share of CPU time.
class AwakeCores {
 public:
  // Forks, so call it from a single-threaded process. Throws Error naming the attempt.
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

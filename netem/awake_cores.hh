// Keeps this machine's processors from going to sleep. A virtual machine's host, and deep idle states, take
// tens to hundreds of microseconds to wake one up again, so the timers by which shapers let frames go are
// late, and a link whose users wait for it is slower than one whose users compute meanwhile.
#pragma once

#include <sys/types.h>

namespace thinpipe::netem {

enum class IdleCores { as_needed, kept_awake, may_sleep };

// Whether this machine wakes up sleepers later than shapers can make up for: measures it, some 20 ms.
bool wakes_up_late();

// A process with a thread for each processor that this one may use, which spins whenever nobody else has work
// for it: of the idle class, and in a session whose share against other sessions is the smallest there is.
class AwakeCores {
 public:
  // Forks: for processes of one thread. Throws Error naming the attempt.
  AwakeCores();
  // Ends it; from then on its processor time is this process's own, as that of all its children that have
  // ended.
  ~AwakeCores();
  AwakeCores(const AwakeCores&) = delete;
  AwakeCores& operator=(const AwakeCores&) = delete;

  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

}  // namespace thinpipe::netem

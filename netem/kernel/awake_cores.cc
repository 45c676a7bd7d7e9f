#include "netem/kernel/awake_cores.hh"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/support/exception.hh"
#include "netem/kernel/wakeup_latency.hh"

namespace thinpipe::netem {
namespace {

std::vector<int> usable_cpus() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  system_call("read which CPUs are usable", ::sched_getaffinity(0, sizeof usable, &usable));
  std::vector<int> out;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &usable)) out.push_back(i);
  }
  return out;
}

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Yields the CPU about once per microsecond, so that a waking thread need not preempt this one. To the
// kernel, an idle-class process in its own session is an ordinary program that may run on for milliseconds.
[[noreturn]] void spin() {
  constexpr int pauses = 16;
  while (true) {
    for (int i = 0; i < pauses; ++i) pause();
    ::sched_yield();
  }
}

// If the kernel divides CPU time among sessions first (autogroups), a process's class and niceness count only
// within its session. EAGAIN means that an unprivileged process wrote too recently; this then retries.
void give_session_the_smallest_share() {
  const int file = ::open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;  // a kernel without autogroups
  for (int i = 0; i < 100 && ::write(file, "19", 2) < 0 && errno == EAGAIN; ++i) {
    const timespec pause{.tv_sec = 0, .tv_nsec = 20'000'000};
    ::nanosleep(&pause, nullptr);
  }
  ::close(file);
}

// Each step may fail: the threads then spin at the lowest priority that this machine grants.
[[noreturn]] void keep_awake(const std::vector<int>& cpus, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
  ::close_range(0, ~0U, 0);  // an inherited end of a pipe would keep its reader waiting
  ::prctl(PR_SET_NAME, "awake-cores");
  ::setsid();
  ::setpriority(PRIO_PROCESS, 0, 19);
  const sched_param none{};
  ::sched_setscheduler(0, SCHED_IDLE, &none);
  give_session_the_smallest_share();
  std::vector<std::thread> threads;
  for (const int cpu : cpus) {
    threads.emplace_back([cpu] {
      cpu_set_t only;
      CPU_ZERO(&only);
      CPU_SET(cpu, &only);
      ::sched_setaffinity(0, sizeof only, &only);
      spin();
    });
  }
  for (std::thread& thread : threads) thread.join();
  ::_exit(0);
}

}  // namespace

bool wakes_up_late() {
  // A segment takes up to 5/8 of a burst of 100 us (link_shape.hh); a timer may be late by the rest.
  constexpr double max_s = 100e-6 * 3 / 8;
  constexpr int sleeps = 20;
  return measure_wakeup_latency(sleeps).quantile_s(0.5) > max_s;
}

AwakeCores::AwakeCores() {
  const std::vector<int> cpus = usable_cpus();
  const pid_t parent = ::getpid();
  pid_ = system_call("fork to keep CPUs awake", ::fork());
  if (pid_ == 0) keep_awake(cpus, parent);
}

AwakeCores::~AwakeCores() {
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace thinpipe::netem

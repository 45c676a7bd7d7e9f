// SPDX-License-Identifier: Apache-2.0
#include "netem/kernel/awake_cores.hh"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <memory>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
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

// One thread's count, on a cache line of its own.
struct alignas(64) Count {
  std::atomic<std::uint64_t> turns = 0;
};

// Yields the CPU about once per microsecond, so that a waking thread need not preempt this one. To the
// kernel, an idle-class process in its own session is an ordinary program that may run on for milliseconds.
[[noreturn]] void spin(Count& count) {
  constexpr int pauses = 16;
  while (true) {
    for (int i = 0; i < pauses; ++i) pause();
    ::sched_yield();
    count.turns.store(count.turns.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
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
[[noreturn]] void keep_awake(const std::vector<int>& cpus, Count* counts, pid_t parent) {
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
    threads.emplace_back([cpu, &count = *counts++] {
      cpu_set_t only;
      CPU_ZERO(&only);
      CPU_SET(cpu, &only);
      ::sched_setaffinity(0, sizeof only, &only);
      spin(count);
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

class AwakeCores::Turns {
 public:
  explicit Turns(std::size_t threads)
      : bytes_(threads * sizeof(Count)),
        memory_(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    system_call("map memory to share with a child", memory_ == MAP_FAILED ? -1 : 0);
    std::uninitialized_default_construct_n(counts(), threads);
  }
  ~Turns() { ::munmap(memory_, bytes_); }
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  Count* counts() const { return static_cast<Count*>(memory_); }
  std::uint64_t sum() const {
    const std::span all(counts(), bytes_ / sizeof(Count));
    return std::accumulate(all.begin(), all.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const Count& each) {
                             return sum + each.turns.load(std::memory_order_relaxed);
                           });
  }

 private:
  std::size_t bytes_;
  void* memory_;
};

AwakeCores::AwakeCores() {
  const std::vector<int> cpus = usable_cpus();
  turns_ = std::make_shared<Turns>(cpus.size());
  const pid_t parent = ::getpid();
  pid_ = system_call("fork to keep CPUs awake", ::fork());
  if (pid_ == 0) keep_awake(cpus, turns_->counts(), parent);
}

std::uint64_t AwakeCores::turns() const {
  return turns_->sum();
}

AwakeCores::~AwakeCores() {
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace thinpipe::netem

// SPDX-License-Identifier: Apache-2.0
#include "netem/kernel/awake_cores.hh"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fstream>
#include <memory>
#include <numeric>
#include <span>
#include <sstream>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
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

constexpr std::size_t most_cpus = 1 << 20;

// A set of CPUs with room for that many or more; empty.
using CpuMask = std::vector<cpu_set_t>;
CpuMask mask_for(std::size_t cpus) {
  return CpuMask((cpus + CPU_SETSIZE - 1) / CPU_SETSIZE);
}
std::size_t bytes_of(const CpuMask& mask) {
  return mask.size() * sizeof(cpu_set_t);
}

std::vector<int> usable_cpus() {
  CpuMask usable = mask_for(CPU_SETSIZE);
  // The kernel refuses a mask with fewer CPUs than it may have.
  while (::sched_getaffinity(0, bytes_of(usable), usable.data()) < 0) {
    if (errno != EINVAL || usable.size() * CPU_SETSIZE >= most_cpus)
      throw SystemError("read which CPUs are usable", errno);
    usable = mask_for(2 * usable.size() * CPU_SETSIZE);
  }
  std::vector<int> out;
  for (std::size_t i = 0; i < usable.size() * CPU_SETSIZE; ++i) {
    if (CPU_ISSET_S(i, bytes_of(usable), usable.data())) out.push_back(static_cast<int>(i));
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
  std::atomic<bool> has_thread = false;
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

// Each step before the threads may fail: they then spin at the lowest priority that this machine grants.
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
  try {
    for (const int cpu : cpus) {
      Count& count = *counts++;
      threads.emplace_back([cpu, &count] {
        CpuMask only = mask_for(static_cast<std::size_t>(cpu) + 1);
        CPU_SET_S(static_cast<std::size_t>(cpu), bytes_of(only), only.data());
        ::sched_setaffinity(0, bytes_of(only), only.data());
        spin(count);
      });
      count.has_thread = true;
    }
    for (std::thread& thread : threads) thread.join();
  } catch (...) {
    ::_exit(1);  // outside this function is the parent's code, which would run on a second time
  }
  ::_exit(0);
}

// Waits until `has_threads()` returns true of the child. On a busy machine the child, of the idle class, may
// get its turn much later; the wait then ends without an error. Throws Error if the child has ended.
void wait_for_threads(pid_t child, const auto& has_threads) {
  constexpr int most_pauses = 1000;
  for (int i = 0; i < most_pauses && !has_threads(); ++i) {
    if (::waitpid(child, nullptr, WNOHANG) != 0)
      throw Error(
          "keep CPUs awake: a child process could not start a thread for each CPU; raise the limit on processes (ulimit -u, "
          "or pids.max of the control group), or let CPUs sleep (--idle-cores may-sleep)");
    const timespec pause{.tv_sec = 0, .tv_nsec = 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace

bool wakes_up_late() {
  // A segment takes up to 5/8 of a burst of 100 us (link_shape.hh); a timer may be late by the rest.
  constexpr double max_s = 100e-6 * 3 / 8;
  constexpr int sleeps = 20;
  return measure_wakeup_latency(sleeps).quantile_s(0.5) > max_s;
}

std::optional<double> cpus_in_quota(std::string_view cpu_max) {
  std::istringstream words{std::string(cpu_max)};
  double quota_us = 0;
  double period_us = 0;
  if (!(words >> quota_us >> period_us) || period_us <= 0) return std::nullopt;
  return quota_us / period_us;
}

std::optional<double> smallest_quota(const std::filesystem::path& groups,
                                     const std::filesystem::path& hierarchy) {
  constexpr std::string_view version_2 = "0::";
  std::optional<double> out;
  std::ifstream lines(groups);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(version_2)) continue;
    // The group, those above it, and the root, which is a group of its own in a container.
    for (std::filesystem::path group = line.substr(version_2.size());; group = group.parent_path()) {
      std::ifstream file(hierarchy / group.relative_path() / "cpu.max");
      std::string cpu_max;
      std::getline(file, cpu_max);
      if (const auto quota = cpus_in_quota(cpu_max)) out = std::min(*quota, out.value_or(*quota));
      if (group.relative_path().empty()) break;
    }
  }
  return out;
}

std::optional<std::string> obstacle_to_awake_cores() {
  const auto quota = smallest_quota("/proc/self/cgroup", "/sys/fs/cgroup");
  const std::size_t cpus = usable_cpus().size();
  if (!quota || *quota >= static_cast<double>(cpus)) return std::nullopt;
  return fmt::format(
      "a control group's quota (cpu.max) grants this process the time of {:.3g} of its {} CPUs, and threads that keep CPUs "
      "awake would use it up",
      *quota, cpus);
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
  bool have_threads() const {
    return std::ranges::all_of(all(), [](const Count& each) { return each.has_thread.load(); });
  }
  std::uint64_t sum() const {
    const std::span<const Count> each_count = all();
    return std::accumulate(each_count.begin(), each_count.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const Count& each) {
                             return sum + each.turns.load(std::memory_order_relaxed);
                           });
  }

 private:
  std::span<const Count> all() const { return {counts(), bytes_ / sizeof(Count)}; }

  std::size_t bytes_;
  void* memory_;
};

AwakeCores::AwakeCores() {
  if (const auto obstacle = obstacle_to_awake_cores()) {
    throw Error(fmt::format(
        "keep CPUs awake: {}; raise the quota, give this process fewer CPUs (taskset), or let CPUs sleep (--idle-cores "
        "may-sleep)",
        *obstacle));
  }
  const std::vector<int> cpus = usable_cpus();
  turns_ = std::make_shared<Turns>(cpus.size());
  const pid_t parent = ::getpid();
  pid_ = system_call("fork to keep CPUs awake", ::fork());
  if (pid_ == 0) keep_awake(cpus, turns_->counts(), parent);
  wait_for_threads(pid_, [this] { return turns_->have_threads(); });
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

// SPDX-License-Identifier: Apache-2.0
#include "netem/kernel/wakeup_latency.hh"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>

#include <sys/prctl.h>

#include "common/support/exception.hh"

namespace thinpipe::netem {
namespace {

constexpr long sleep_ns = 1'000'000;
constexpr long second_ns = 1'000'000'000;

timespec now() {
  timespec time{};
  system_call("read the clock", ::clock_gettime(CLOCK_MONOTONIC, &time));
  return time;
}

double seconds_between(const timespec& from, const timespec& to) {
  return static_cast<double>(to.tv_sec - from.tv_sec) + 1e-9 * static_cast<double>(to.tv_nsec - from.tv_nsec);
}

// Reduces the timer slack of this thread. By default the kernel wakes programs up to 50 us late, so that it
// can merge timers; shapers have no such slack.
class ExactTimers {
 public:
  ExactTimers() : slack_ns_(system_call("read the timer slack", ::prctl(PR_GET_TIMERSLACK))) {
    system_call("set the timer slack", ::prctl(PR_SET_TIMERSLACK, 1L));
  }
  ~ExactTimers() { ::prctl(PR_SET_TIMERSLACK, static_cast<long>(slack_ns_)); }
  ExactTimers(const ExactTimers&) = delete;
  ExactTimers& operator=(const ExactTimers&) = delete;

 private:
  int slack_ns_;
};

}  // namespace

double WakeupLatency::quantile_s(double share) const {
  std::vector<double> sorted = late_s_;
  std::ranges::sort(sorted);
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted.at(std::max<std::size_t>(rank, 1) - 1);
}

Json WakeupLatency::to_json() const {
  const auto quantile = [this](double share) {
    return count() > 0 ? Json(quantile_s(share)) : Json(nullptr);
  };
  return {{"count", count()}, {"median_s", quantile(0.5)}, {"p99_s", quantile(0.99)}, {"max_s", quantile(1)}};
}

WakeupLatency measure_wakeup_latency(int count) {
  const ExactTimers exact;
  WakeupLatency out;
  for (int i = 0; i < count; ++i) {
    timespec until = now();
    until.tv_nsec += sleep_ns;
    until.tv_sec += until.tv_nsec / second_ns;
    until.tv_nsec %= second_ns;
    int error = 0;
    while ((error = ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr)) == EINTR) {
    }
    if (error != 0) throw SystemError("sleep", error);
    out.add(seconds_between(until, now()));
  }
  return out;
}

}  // namespace thinpipe::netem

// SPDX-License-Identifier: Apache-2.0
#include "harness/run/network/iteration_reports.hh"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace thinpipe {
namespace {

// External trainers may round their times.
constexpr double rounding_s = 1e-3;

}  // namespace

void IterationReports::take(const event::IterationStarted& started, double now_s) {
  if (clock_.runs()) {
    throw InvalidEvent(fmt::format("reported the start of iteration {} before the end of the previous one",
                                   started.iteration));
  }
  const double stands_at_s = clock_.read_s(now_s);
  if (std::abs(started.train_time_s - stands_at_s) > rounding_s) {
    throw InvalidEvent(
        fmt::format("reported the start of iteration {} at \"train_time_s\" {:.6f}, but the previous one "
                    "ended at {:.6f}",
                    started.iteration, started.train_time_s, stands_at_s));
  }
  if (started.monotonic_s < earliest_s_ - rounding_s || started.monotonic_s > now_s + rounding_s) {
    throw InvalidEvent(
        fmt::format("reported the start of iteration {} at \"monotonic_s\" {:.6f}, which must be "
                    "the time by CLOCK_MONOTONIC, from {:.6f} to {:.6f}",
                    started.iteration, started.monotonic_s, earliest_s_, now_s));
  }
  clock_.run(started.train_time_s, started.monotonic_s);
  started_train_time_s_ = started.train_time_s;
  earliest_s_ = started.monotonic_s;
}

void IterationReports::take(const event::Iteration& ended, double now_s) {
  if (!clock_.runs()) {
    throw InvalidEvent(
        fmt::format("reported the end of iteration {} but not its start, which a rate trace that "
                    "follows train time needs: report \"iteration_started\" before each iteration "
                    "(docs/reference/trainers.md), or set rate_trace.clock to \"wall\"",
                    ended.iteration));
  }
  if (!ended.times) {
    throw InvalidEvent(
        fmt::format("reported the end of iteration {}, whose \"train_time_s\" must not be null: a rate trace "
                    "follows train time",
                    ended.iteration));
  }
  const double train_time_s = ended.times->train_time_s;
  late_.add(std::max(0.0, now_s - earliest_s_ - (train_time_s - started_train_time_s_)));
  clock_.stop(train_time_s);
}

}  // namespace thinpipe

#include "harness/run/iteration_reports.hh"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/protocol/event_check.hh"

namespace thinpipe {
namespace {

// External trainers may round their times.
constexpr double rounding_s = 1e-3;

}  // namespace

void IterationReports::take(const Json& event, double now_s) {
  const auto kind = event.at("event").get<std::string>();
  if (kind == "iteration_started") start(event, now_s);
  if (kind == "iteration") end(event, now_s);
}

void IterationReports::start(const Json& event, double now_s) {
  const auto iteration = event.at("iteration").get<std::int64_t>();
  const auto train_time_s = event.at("train_time_s").get<double>();
  const auto started_s = event.at("monotonic_s").get<double>();
  if (clock_.runs()) {
    throw UnfitEvent(
        fmt::format("reported the start of iteration {} before the end of the previous one", iteration));
  }
  const double stands_at_s = clock_.read_s(now_s);
  if (std::abs(train_time_s - stands_at_s) > rounding_s) {
    throw UnfitEvent(
        fmt::format("reported the start of iteration {} at \"train_time_s\" {:.6f}, but the previous one "
                    "ended at {:.6f}",
                    iteration, train_time_s, stands_at_s));
  }
  if (started_s < earliest_s_ - rounding_s || started_s > now_s + rounding_s) {
    throw UnfitEvent(
        fmt::format("reported the start of iteration {} at \"monotonic_s\" {:.6f}, which must be "
                    "the time by CLOCK_MONOTONIC, from {:.6f} to {:.6f}",
                    iteration, started_s, earliest_s_, now_s));
  }
  clock_.run(train_time_s, started_s);
  started_train_time_s_ = train_time_s;
  earliest_s_ = started_s;
}

void IterationReports::end(const Json& event, double now_s) {
  if (!clock_.runs()) {
    throw UnfitEvent(
        fmt::format("reported the end of iteration {} but not its start, which a rate trace that "
                    "follows train time needs: report \"iteration_started\" before each iteration "
                    "(docs/trainers.md), or set rate_trace.clock to \"wall\"",
                    event.at("iteration").dump()));
  }
  const auto train_time_s = event.at("train_time_s").get<double>();
  late_.add(std::max(0.0, now_s - earliest_s_ - (train_time_s - started_train_time_s_)));
  clock_.stop(train_time_s);
}

}  // namespace thinpipe

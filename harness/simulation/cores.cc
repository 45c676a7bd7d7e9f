// SPDX-License-Identifier: Apache-2.0
#include "harness/simulation/cores.hh"

#include <algorithm>
#include <limits>

namespace thinpipe {
namespace {

// Counts as done, whatever the job's length, because sums of levels are not exact.
constexpr double negligible_s = 1e-13;

}  // namespace

void Cores::start(double cpu_s, Priority priority, std::size_t id) {
  Level& level = levels_[static_cast<std::size_t>(priority)];
  level.jobs.push({level.level_s + cpu_s, id});
  share();
}

double Cores::next_completion_s() const {
  double next_s = std::numeric_limits<double>::infinity();
  for (const Level& each : levels_) {
    if (each.jobs.empty()) continue;
    const double left_s = each.jobs.top().ends_at - each.level_s;
    if (left_s <= negligible_s) return 0;
    if (each.rate > 0) next_s = std::min(next_s, left_s / each.rate);
  }
  return next_s;
}

std::vector<std::size_t> Cores::advance(double time_s) {
  std::vector<std::size_t> ended;
  for (Level& each : levels_) {
    if (each.jobs.empty()) continue;
    each.level_s += time_s * each.rate;
    used_s_ += time_s * each.rate * static_cast<double>(each.jobs.size());
    while (!each.jobs.empty() && each.jobs.top().ends_at <= each.level_s + negligible_s) {
      ended.push_back(each.jobs.top().id);
      each.jobs.pop();
    }
    if (each.jobs.empty()) each.level_s = 0;
  }
  if (!ended.empty()) share();
  return ended;
}

void Cores::share() {
  double left = cores_;
  for (Level& each : levels_) {
    const auto jobs = static_cast<double>(each.jobs.size());
    each.rate = jobs > 0 ? std::min(1.0, left / jobs) : 0;
    left = std::max(0.0, left - jobs * each.rate);
  }
}

}  // namespace thinpipe

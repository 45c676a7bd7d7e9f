// SPDX-License-Identifier: Apache-2.0
#include "harness/run/restarts.hh"

#include <algorithm>
#include <array>

namespace thinpipe {
namespace {

// Returns whether another attempt may succeed: a worker has died, hangs, or cannot be reached. A diverging
// loss or wrong input would only fail again.
bool is_of_a_worker(const Failure& failure) {
  constexpr std::array kinds = {"crash", "hang", "stall", "collective"};
  return std::ranges::find(kinds, failure.kind) != kinds.end();
}

}  // namespace

void Restarts::take_over(const std::vector<record::Restart>& earlier) {
  restarts_ = earlier;
  for (const record::Restart& restart : earlier) lost_train_time_s_ += restart.lost_train_time_s.value_or(0);
}

bool Restarts::follow(const Outcome& outcome) const {
  return policy_.restarts() && outcome.status == Outcome::Status::failed && outcome.failure &&
         is_of_a_worker(*outcome.failure) && std::ssize(restarts_) < policy_.at_most;
}

void Restarts::begin(const Failure& failure, std::int64_t iterations, double train_time_s, double now_s) {
  restarts_.push_back({.failure = thinpipe::recorded(failure), .after_iteration = iterations});
  awaits_resumption_ = true;
  failed_after_s_ = train_time_s;
  began_s_ = now_s;
}

void Restarts::resume(std::int64_t iteration, double own_train_time_s, double now_s) {
  const double lost_before_s = lost_train_time_s_;
  lost_train_time_s_ = failed_after_s_ - own_train_time_s;
  awaits_resumption_ = false;
  record::Restart& restart = restarts_.back();
  restart.resumed_after_iteration = iteration;
  restart.lost_train_time_s = lost_train_time_s_ - lost_before_s;
  restart.down_time_s = now_s - began_s_;
}

}  // namespace thinpipe

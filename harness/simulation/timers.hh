// SPDX-License-Identifier: Apache-2.0
// The time of a simulation, and what is to happen later. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

namespace thinpipe {

class Timers {
 public:
  double now_s() const { return now_s_; }

  void set(double at_s, std::function<void()> action) { timers_.push({at_s, set_++, std::move(action)}); }

  // Returns the time until the next action; infinity if there is none.
  double next_s() const {
    return timers_.empty() ? std::numeric_limits<double>::infinity() : timers_.top().at_s - now_s_;
  }

  void advance(double time_s) { now_s_ += time_s; }

  // Runs the actions that are due, those of equal times in the order in which they were set.
  void run() {
    while (!timers_.empty() && timers_.top().at_s <= now_s_) {
      const auto action = timers_.top().action;
      timers_.pop();
      action();
    }
  }

 private:
  struct Timer {
    double at_s = 0;
    std::size_t number = 0;
    std::function<void()> action;
    bool operator>(const Timer& other) const {
      return at_s > other.at_s || (at_s == other.at_s && number > other.number);
    }
  };

  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  std::size_t set_ = 0;
  double now_s_ = 0;
};

}  // namespace thinpipe

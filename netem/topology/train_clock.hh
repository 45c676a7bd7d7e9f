// SPDX-License-Identifier: Apache-2.0
// Train time: it passes while an iteration runs and stands still between iterations, however long the
// evaluation between them takes. Pure.
#pragma once

#include <algorithm>
#include <optional>

namespace thinpipe::netem {

class TrainClock {
 public:
  // Starts an iteration at this moment of the monotonic clock; `train_time_s` passed before it.
  void run(double train_time_s, double since_s) {
    train_time_s_ = train_time_s;
    since_s_ = since_s;
  }

  // Ends the iteration. `train_time_s` may be less than the last reading: the clock runs until the end is
  // reported.
  void stop(double train_time_s) {
    train_time_s_ = train_time_s;
    since_s_.reset();
  }

  bool runs() const { return since_s_.has_value(); }

  // Returns the train time at this moment of the monotonic clock, no less than at the latest run() or stop().
  double read_s(double now_s) const {
    return train_time_s_ + (since_s_ ? std::max(0.0, now_s - *since_s_) : 0);
  }

 private:
  double train_time_s_ = 0;
  std::optional<double> since_s_ = {};  // nullopt while it stands still
};

}  // namespace thinpipe::netem

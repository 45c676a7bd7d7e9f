// Train time, as its reader is told of it: it passes while an iteration runs, and stands still between two,
// however long the evaluation between them takes. Pure.
#pragma once

#include <algorithm>
#include <optional>

namespace thinpipe::netem {

class TrainClock {
 public:
  // An iteration began at this moment of the monotonic clock, after this train time.
  void run(double train_time_s, double since_s) {
    train_time_s_ = train_time_s;
    since_s_ = since_s;
  }

  // The iteration is over. This may be less than what was read last: who hears of an end late has read on.
  void stop(double train_time_s) {
    train_time_s_ = train_time_s;
    since_s_.reset();
  }

  bool runs() const { return since_s_.has_value(); }

  // The train time at this moment of the monotonic clock, no earlier than those above.
  double read_s(double now_s) const {
    return train_time_s_ + (since_s_ ? std::max(0.0, now_s - *since_s_) : 0);
  }

 private:
  double train_time_s_ = 0;
  std::optional<double> since_s_ = {};  // none: it stands still
};

}  // namespace thinpipe::netem

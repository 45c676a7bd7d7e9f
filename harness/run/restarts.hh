// The restarts of one run: whether another is due, and the train time that was lost by those there were.
//
// A trainer counts its own train time and goes on counting where its checkpoint was written. What it had done
// since is done again, so that the time it took the first time is lost: it stays part of the run's train
// time.
#pragma once

#include <cstdint>

#include "harness/executors/executor.hh"
#include "harness/plan/failure_policy.hh"

namespace thinpipe {

class Restarts {
 public:
  explicit Restarts(const FailurePolicy& policy) : policy_(policy) {}

  // Whether the run is to go on after an attempt that ended so.
  bool follow(const Outcome& outcome) const;

  // Another attempt begins, at this moment of the monotonic clock. `iterations` had ended, after
  // `train_time_s` of the run.
  void begin(const Failure& failure, std::int64_t iterations, double train_time_s, double now_s);

  // Whether an attempt has begun whose workers have not said yet from where they go on.
  bool awaits_resumption() const { return awaits_resumption_; }

  // They go on after this iteration, before which they had counted this train time themselves.
  void resume(std::int64_t iteration, double own_train_time_s, double now_s);

  // What is to be added to a train time that the trainer counts.
  double lost_train_time_s() const { return lost_train_time_s_; }

  // The record's "restarts": [{"failure", "after_iteration", "resumed_after_iteration", "lost_train_time_s",
  // "down_time_s"}]; the last three are null where the workers did not come up again.
  const Json& to_json() const { return restarts_; }

 private:
  FailurePolicy policy_;
  Json restarts_ = Json::array();
  bool awaits_resumption_ = false;
  double failed_after_s_ = 0;  // train time of the run
  double began_s_ = 0;         // the latest attempt, by the clock
  double lost_train_time_s_ = 0;
};

}  // namespace thinpipe

// SPDX-License-Identifier: Apache-2.0
// The restarts of one run: whether another is due, and the train time that earlier ones lost.
//
// A trainer counts its own train time and resumes the count at its checkpoint. It repeats the work since
// then. The time of the lost work remains part of the run's train time.
#pragma once

#include <cstdint>

#include "harness/executors/executor.hh"
#include "harness/plan/failure_policy.hh"
#include "harness/records/record_data.hh"

namespace thinpipe {

class Restarts {
 public:
  explicit Restarts(const FailurePolicy& policy) : policy_(policy) {}

  // Takes over the restarts of an earlier part of the run, which was interrupted.
  void take_over(const std::vector<record::Restart>& earlier);

  // Returns whether the run continues after an attempt with this outcome.
  bool follow(const Outcome& outcome) const;

  // Begins another attempt at this moment of the monotonic clock. `iterations` had ended, after
  // `train_time_s` of the run.
  void begin(const Failure& failure, std::int64_t iterations, double train_time_s, double now_s);

  // Returns whether an attempt has begun whose workers have not yet reported where they resume.
  bool awaits_resumption() const { return awaits_resumption_; }

  // The workers resume after this iteration, at this train time of their own count.
  void resume(std::int64_t iteration, double own_train_time_s, double now_s);

  // Returns the time to add to a train time that the trainer counts.
  double lost_train_time_s() const { return lost_train_time_s_; }

  // Returns the restarts. The last one has no times if the workers have not resumed.
  const std::vector<record::Restart>& recorded() const { return restarts_; }

 private:
  FailurePolicy policy_;
  std::vector<record::Restart> restarts_;
  bool awaits_resumption_ = false;
  double failed_after_s_ = 0;  // train time of the run
  double began_s_ = 0;         // the latest attempt, on the monotonic clock
  double lost_train_time_s_ = 0;
};

}  // namespace thinpipe

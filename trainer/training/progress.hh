// SPDX-License-Identifier: Apache-2.0
// How far a worker's training has come: counts and sums over its steps, which a checkpoint keeps.
#pragma once

#include <cstdint>
#include <optional>

#include "trainer/base/tensor_map.hh"
#include "trainer/exchange/gradient_exchange.hh"

namespace thinpipe::trainer {

struct Progress {
  std::int64_t iteration = 0;    // steps done
  std::int64_t timed_after = 0;  // of these, the ones before a resumption, whose times `total` lacks
  double train_time_s = 0;       // of all steps
  double pruning_time_s = 0;     // not part of train_time_s
  std::int64_t skipped = 0;      // steps whose gradient was not finite
  std::int64_t skipped_in_a_row = 0;
  double loss_sum = 0;          // over this worker's batches since the last evaluation
  std::int64_t loss_count = 0;  // number of these batches
  Section total = {};           // of all exchanges

  // Counts one more step.
  void add(const StepReport& report, double iteration_time_s, double loss);

  // Returns the mean over the timed iterations; nullopt if there is none. sum_s: a time of `total`.
  std::optional<double> mean_s(double sum_s) const;

  // Save and load a checkpoint's part. Of `total` it has payload and sent bytes and the number of collectives.
  void save(TensorMap& state) const;
  void load(const TensorMap& state);
};

}  // namespace thinpipe::trainer

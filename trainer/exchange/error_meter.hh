// SPDX-License-Identifier: Apache-2.0
// Measures the distance of a method's results from the mean of the workers' inputs: vNMSE of
// docs/reference/metrics.md. It computes that mean by a collective of its own, so use it only if communication is
// neither timed nor counted.
#pragma once

#include <optional>

#include "trainer/base/bucket.hh"
#include "trainer/collectives/collective.hh"

namespace thinpipe::trainer {

class ErrorMeter {
 public:
  // `unmetered` must outlive this.
  explicit ErrorMeter(Collective& unmetered) : unmetered_(unmetered) {}

  // Call these before and after every bucket's synchronisation, on all workers.
  void before(const Bucket& bucket);
  void after(const Bucket& bucket);

  // Counts the step only if it is applied.
  void finish_step(bool applied);

  // Returns Σ ‖result - mean‖² / Σ ‖mean‖² over the steps so far; nullopt while all means are zero.
  std::optional<double> vnmse() const;

  // Convert the sums for a checkpoint.
  torch::Tensor saved() const;
  void load(const torch::Tensor& saved);

 private:
  struct Sums {
    double error = 0;
    double mean = 0;
  };

  Collective& unmetered_;
  torch::Tensor mean_;  // of the current bucket
  Sums step_;
  Sums total_;
};

}  // namespace thinpipe::trainer

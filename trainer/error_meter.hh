// How far a method's results are from the mean of what workers put in: vNMSE of docs/metrics.md. Takes that
// mean by a collective of its own, so it is for where communication is neither timed nor counted.
#pragma once

#include <optional>

#include "trainer/bucket.hh"
#include "trainer/collectives/collective.hh"

namespace thinpipe::trainer {

class ErrorMeter {
 public:
  // `unmetered` must outlive this.
  explicit ErrorMeter(Collective& unmetered) : unmetered_(unmetered) {}

  // Around every bucket's synchronisation, on all workers.
  void before(const Bucket& bucket);
  void after(const Bucket& bucket);

  // Of a step that is not applied nothing counts.
  void finish_step(bool applied);

  // Σ ‖result - mean‖² / Σ ‖mean‖² over the steps so far; nothing while all means are zero.
  std::optional<double> vnmse() const;

 private:
  struct Sums {
    double error = 0;
    double mean = 0;
  };

  Collective& unmetered_;
  torch::Tensor mean_;  // of the bucket at hand
  Sums step_;
  Sums total_;
};

}  // namespace thinpipe::trainer

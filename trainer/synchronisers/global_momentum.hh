// SPDX-License-Identifier: Apache-2.0
// The momentum of GMC and its residual (methods/gmc.cc), which do not depend on the choice of entries.
#pragma once

#include "trainer/synchronisers/kept_entries.hh"
#include "trainer/synchronisers/residual.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {

class GlobalMomentum {
 public:
  struct Options {
    double momentum = 0;
    double detached = 0;  // share of the residual by which the point of evaluation is shifted
  };

  GlobalMomentum(const Options& options, const SynchroniserContext& context);

  void set_learning_rate(double learning_rate) { learning_rate_ = learning_rate; }
  void begin_step();

  bool shifts_evaluation() const { return options_.detached > 0; }
  torch::Tensor evaluation_shift(std::size_t parameter) const;

  // Subtracts the last movement of the weights, in units of gradients, from bucket.gradient.
  void subtract_movement(Bucket& bucket);

  // Replaces bucket.gradient, this worker's gradient, by acc: with the movement and the residual.
  void accumulate(Bucket& bucket);

  // Stages bucket.gradient, the part of acc that is not sent, as the residual.
  void store_residual(const Bucket& bucket) { residual_.stage(bucket, bucket.gradient); }

  void finish_step(bool applied);
  void add_residual(Bucket& bucket) const { residual_.add_to(bucket); }
  void adopt_masks(const std::vector<torch::Tensor>& kept);
  void save(TensorMap& state, const std::string& prefix) const;
  void load(const TensorMap& state, const std::string& prefix);

 private:
  Options options_;
  std::vector<torch::Tensor> weights_;    // the parameters themselves
  std::vector<torch::Tensor> unshifted_;  // w_t, if the parameters are shifted during a step
  KeptEntries kept_;
  Residual residual_;         // e
  StagedState last_weights_;  // w_{t-1}
  double learning_rate_ = 0;
  double last_learning_rate_ = 0;  // of the last applied step; 0 before the first
};

}  // namespace thinpipe::trainer

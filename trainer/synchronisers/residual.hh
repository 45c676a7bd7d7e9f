// SPDX-License-Identifier: Apache-2.0
// State that a method keeps per parameter, such as momentum, and the residual of error feedback.
#pragma once

#include "trainer/base/bucket.hh"
#include "trainer/base/tensor_map.hh"

namespace thinpipe::trainer {

// One number per weight, zero at first. A step stages its changes and commits them at its end.
class StagedState {
 public:
  explicit StagedState(const std::vector<ParameterInfo>& parameters);

  // Stages a copy of `values`, float32 [bucket.size], as the state that the bucket's parameters have after
  // commit().
  void stage(const Bucket& bucket, const torch::Tensor& values);

  // Makes the staged state the current one.
  void commit();
  // Drops the staged state.
  void discard();

  // Clears the state of entries that a new mask prunes, because it would move their weights off zero.
  // kept[p]: bool [size], undefined if p is not pruned.
  void drop_pruned(const std::vector<torch::Tensor>& kept);

  // Returns the number of parameters.
  std::size_t size() const { return current_.size(); }

  // Returns the state of parameter p, float32 [size].
  const torch::Tensor& of(std::size_t parameter) const { return current_[parameter]; }

  void save(TensorMap& state, const std::string& prefix) const;
  void load(const TensorMap& state, const std::string& prefix);

 private:
  std::vector<ParameterInfo> parameters_;
  std::vector<torch::Tensor> current_;
  std::vector<torch::Tensor> staged_;
  std::vector<bool> is_staged_;
};

// The residual of error feedback: the part of the gradient that a lossy method did not send. It is added to
// the next gradient (e in the equations).
class Residual : public StagedState {
 public:
  using StagedState::StagedState;

  // Adds e to bucket.gradient.
  void add_to(Bucket& bucket) const {
    for (const Slice& slice : bucket.slices) bucket.view(slice).add_(of(slice.parameter));
  }
};

}  // namespace thinpipe::trainer

// The residual of error feedback: the part of the gradient that a lossy method did not send. It is kept per
// parameter and added to the next gradient (e in the equations). A step stages its changes and commits them
// at its end.
#pragma once

#include "trainer/base/bucket.hh"
#include "trainer/base/tensor_map.hh"

namespace thinpipe::trainer {

class Residual {
 public:
  explicit Residual(const std::vector<ParameterInfo>& parameters);

  // Adds e to bucket.gradient.
  void add_to(Bucket& bucket) const;

  // Stages a copy of `remainder`, float32 [bucket.size], as the residual that the bucket's parameters have
  // after commit().
  void stage(const Bucket& bucket, const torch::Tensor& remainder);

  // Makes the staged residual the current one.
  void commit();
  // Drops the staged residual.
  void discard();

  // Clears the residual of entries that a new mask prunes, because sending it would move their weights off
  // zero. kept[p]: bool [size], undefined if p is not pruned.
  void drop_pruned(const std::vector<torch::Tensor>& kept);

  // Returns e of parameter p, float32 [size].
  const torch::Tensor& of(std::size_t parameter) const { return current_[parameter]; }

  void save(TensorMap& state, const std::string& prefix) const;
  void load(const TensorMap& state, const std::string& prefix);

 private:
  std::vector<ParameterInfo> parameters_;
  std::vector<torch::Tensor> current_;
  std::vector<torch::Tensor> staged_;
  std::vector<bool> is_staged_;
};

}  // namespace thinpipe::trainer

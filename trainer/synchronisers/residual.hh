// The residual of error feedback: what a lossy method did not send, kept per parameter and added to the next
// gradient (e in the equations). Staged during a step, committed at its end.
#pragma once

#include "trainer/bucket.hh"
#include "trainer/tensor_map.hh"

namespace thinpipe::trainer {

class Residual {
 public:
  // All zero.
  explicit Residual(const std::vector<ParameterInfo>& parameters);

  // bucket.gradient += e.
  void add_to(Bucket& bucket) const;

  // The residual that the bucket's parameters are to have once commit() is called; copies `remainder`,
  // float32 [bucket.size].
  void stage(const Bucket& bucket, const torch::Tensor& remainder);

  void commit();   // what was staged becomes the residual
  void discard();  // what was staged is dropped

  // kept[p]: bool [size], undefined where p is not pruned. A new mask: what was not sent of entries that are
  // now pruned is dropped, or it would move their weights off zero.
  void drop_pruned(const std::vector<torch::Tensor>& kept);

  // e of parameter p, float32 [size].
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

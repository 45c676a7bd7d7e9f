// The entries that pruning took, for methods whose result would otherwise move them off zero: a rotation, a
// product of factors, a code without a zero.
#pragma once

#include "trainer/bucket.hh"

namespace thinpipe::trainer {

class PrunedEntries {
 public:
  // kept: as SynchroniserContext::kept.
  explicit PrunedEntries(const std::vector<torch::Tensor>& kept) { adopt(kept); }

  void adopt(const std::vector<torch::Tensor>& kept) {
    pruned_.clear();
    for (const torch::Tensor& mask : kept) {
      pruned_.push_back(mask.defined() ? mask.logical_not() : torch::Tensor());
    }
  }

  // values, float32 [bucket.size], become 0 there: by selection, so that an infinity cannot become NaN.
  void clear(const Bucket& bucket, const torch::Tensor& values) const {
    for (const Slice& slice : bucket.slices) {
      const torch::Tensor& pruned = pruned_[slice.parameter];
      if (pruned.defined()) values.narrow(0, slice.offset, slice.size).masked_fill_(pruned, 0);
    }
  }

 private:
  std::vector<torch::Tensor> pruned_;  // per parameter, bool [size]; undefined where it is not pruned
};

}  // namespace thinpipe::trainer

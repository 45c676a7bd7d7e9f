// The entries that pruning kept: for methods that send nothing of the others, and for those whose result
// would move the others off zero, as a rotation does, a product of factors or a code without a zero.
#pragma once

#include "trainer/bucket.hh"

namespace thinpipe::trainer {

class KeptEntries {
 public:
  // kept: as SynchroniserContext::kept.
  explicit KeptEntries(const std::vector<torch::Tensor>& kept) { adopt(kept); }

  void adopt(const std::vector<torch::Tensor>& kept);

  std::int64_t count(const Slice& slice) const;
  std::int64_t count(const Bucket& bucket) const;

  // Of each of so many equal parts of the slice.
  std::vector<std::int64_t> counts(const Slice& slice, std::int64_t parts) const;

  // bool [bucket.size].
  torch::Tensor mask(const Bucket& bucket) const;

  // float32 [count(bucket)]: the kept entries of bucket.gradient, one after another. Where that is all of
  // them, it is bucket.gradient itself.
  torch::Tensor pack(const Bucket& bucket) const;

  // The inverse: dense, float32 [bucket.size], becomes 0 at the entries that are not kept. `packed` may be
  // `dense` where pack() makes it so.
  void unpack(const torch::Tensor& packed, const Bucket& bucket, const torch::Tensor& dense) const;

  // values, float32 [bucket.size], become 0 at the entries that are not kept: by selection, so that an
  // infinity cannot become NaN.
  void clear_pruned(const Bucket& bucket, const torch::Tensor& values) const;

 private:
  std::vector<torch::Tensor> kept_;   // per parameter, bool [size]; undefined where nothing of it is pruned
  std::vector<std::int64_t> counts_;  // per parameter, of kept entries where it is pruned
};

}  // namespace thinpipe::trainer

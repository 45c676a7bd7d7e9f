// The entries that pruning kept, for methods that send nothing of the others.
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

  // float32 [count(bucket)]: the kept entries of bucket.gradient, one after another.
  torch::Tensor pack(const Bucket& bucket) const;

  // The inverse: dense, float32 [bucket.size], becomes 0 at the entries that are not kept.
  void unpack(const torch::Tensor& packed, const Bucket& bucket, const torch::Tensor& dense) const;

 private:
  std::vector<torch::Tensor> kept_;   // per parameter, bool [size]; undefined where nothing of it is pruned
  std::vector<std::int64_t> counts_;  // per parameter, of kept entries where it is pruned
};

}  // namespace thinpipe::trainer

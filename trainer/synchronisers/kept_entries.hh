// SPDX-License-Identifier: Apache-2.0
// The entries that pruning kept. Some methods send only these. Others use them because their result would
// move pruned entries off zero: a rotation, a product of factors, or a code without a zero.
#pragma once

#include "trainer/base/bucket.hh"

namespace thinpipe::trainer {

class KeptEntries {
 public:
  // kept: like SynchroniserContext::kept.
  explicit KeptEntries(const std::vector<torch::Tensor>& kept) { adopt(kept); }

  void adopt(const std::vector<torch::Tensor>& kept);

  std::int64_t count(const Slice& slice) const;
  std::int64_t count(const Bucket& bucket) const;

  // Returns the number of kept entries in each of `parts` equal parts of the slice.
  std::vector<std::int64_t> counts(const Slice& slice, std::int64_t parts) const;

  // Returns bool [bucket.size].
  torch::Tensor mask(const Bucket& bucket) const;

  // Returns for each block of `block_size` entries of the bucket whether it has a kept one. The last block
  // may be shorter.
  std::vector<bool> kept_blocks(const Bucket& bucket, std::int64_t block_size) const;

  // Returns the kept entries of bucket.gradient, concatenated: float32 [count(bucket)]. If all entries are
  // kept, returns bucket.gradient itself.
  torch::Tensor pack(const Bucket& bucket) const;

  // Inverts pack(): writes `packed` to the kept entries of `dense`, float32 [bucket.size], and 0 to the
  // others. `packed` may be `dense` if pack() returns it.
  void unpack(const torch::Tensor& packed, const Bucket& bucket, const torch::Tensor& dense) const;

  // Sets the entries of `values`, float32 [bucket.size], that are not kept to 0. Selects instead of
  // multiplying, so an infinity cannot become NaN.
  void clear_pruned(const Bucket& bucket, const torch::Tensor& values) const;

 private:
  std::vector<torch::Tensor> kept_;   // per parameter, bool [size]; undefined if it is not pruned
  std::vector<std::int64_t> counts_;  // per parameter: the number of kept entries, if it is pruned
};

}  // namespace thinpipe::trainer

// Which entries of a bucket may be non-zero: what a method sends at most whose messages leave zeros out.
#pragma once

#include "trainer/bucket.hh"

namespace thinpipe::trainer {

// kept: as SynchroniserContext::kept. bool [bucket.size].
inline torch::Tensor bucket_mask(const Bucket& bucket, const std::vector<torch::Tensor>& kept) {
  torch::Tensor mask = torch::ones({bucket.size}, torch::kBool);
  for (const Slice& slice : bucket.slices) {
    const torch::Tensor& own = kept[slice.parameter];
    if (own.defined()) mask.narrow(0, slice.offset, slice.size).copy_(own);
  }
  return mask;
}

}  // namespace thinpipe::trainer

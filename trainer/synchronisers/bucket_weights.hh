// SPDX-License-Identifier: Apache-2.0
// The model's weights laid out as a bucket, for methods whose result depends on them.
#pragma once

#include <string>

#include "common/support/exception.hh"
#include "trainer/base/bucket.hh"

namespace thinpipe::trainer {

// Returns a copy of the bucket's entries of SynchroniserContext::weights: float32 [bucket.size], in main
// memory. Throws Error naming `method` if `weights` is empty, as it is in a plan.
inline torch::Tensor bucket_weights(const std::vector<torch::Tensor>& weights, const Bucket& bucket,
                                    const std::string& method) {
  if (weights.empty())
    throw Error(method + ": created without the model's weights, so it can only plan traffic");
  torch::Tensor copy = torch::empty({bucket.size});
  for (const Slice& slice : bucket.slices) {
    copy.narrow(0, slice.offset, slice.size).copy_(weights[slice.parameter].detach().view(-1));
  }
  return copy;
}

}  // namespace thinpipe::trainer

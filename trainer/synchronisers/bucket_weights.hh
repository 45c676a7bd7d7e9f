// The model's weights laid out as a bucket: for methods whose result depends on them.
#pragma once

#include <string>

#include "harness/support/exception.hh"
#include "trainer/bucket.hh"

namespace thinpipe::trainer {

// Copies SynchroniserContext::weights of the bucket's parameters: float32 [bucket.size], in main memory.
// Throws Error if `weights` is empty, as in a plan; `method` names the method in the message.
inline torch::Tensor bucket_weights(const std::vector<torch::Tensor>& weights, const Bucket& bucket,
                                    const std::string& method) {
  if (weights.empty())
    throw Error(method + ": made without the model's weights, so it can plan but not step");
  torch::Tensor copy = torch::empty({bucket.size});
  for (const Slice& slice : bucket.slices) {
    copy.narrow(0, slice.offset, slice.size).copy_(weights[slice.parameter].detach().view(-1));
  }
  return copy;
}

}  // namespace thinpipe::trainer

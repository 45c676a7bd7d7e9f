// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/sparse/largest_entries.hh"

#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/sparse/kept_count.hh"
#include "trainer/synchronisers/sparse/top_k.hh"

namespace thinpipe::trainer {

std::vector<std::uint32_t> largest_entries(const Bucket& bucket, double ratio, ChoiceScope scope) {
  const auto largest_of = [ratio](const torch::Tensor& tensor) {
    return top_k_indices(floats(tensor), static_cast<std::size_t>(kept_count(ratio, tensor.numel())));
  };
  if (scope == ChoiceScope::bucket) return largest_of(bucket.gradient);
  std::vector<std::uint32_t> indices;
  for (const Slice& slice : bucket.slices) {
    for (const std::uint32_t index : largest_of(bucket.view(slice)))
      indices.push_back(static_cast<std::uint32_t>(slice.offset) + index);
  }
  return indices;
}

std::int64_t count_of_largest(const Bucket& bucket, double ratio, ChoiceScope scope) {
  if (scope == ChoiceScope::bucket) return kept_count(ratio, bucket.size);
  std::int64_t count = 0;
  for (const Slice& slice : bucket.slices) count += kept_count(ratio, slice.size);
  return count;
}

}  // namespace thinpipe::trainer

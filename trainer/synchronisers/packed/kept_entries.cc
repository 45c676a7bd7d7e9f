#include "trainer/synchronisers/kept_entries.hh"

#include <algorithm>

#include "trainer/tensor_span.hh"

namespace thinpipe::trainer {

void KeptEntries::adopt(const std::vector<torch::Tensor>& kept) {
  kept_.clear();
  counts_.clear();
  for (const torch::Tensor& mask : kept) {
    const std::int64_t count = mask.defined() ? mask.sum().item<std::int64_t>() : 0;
    const bool prunes = mask.defined() && count < mask.numel();
    kept_.push_back(prunes ? mask.contiguous() : torch::Tensor());
    counts_.push_back(count);
  }
}

std::int64_t KeptEntries::count(const Slice& slice) const {
  return kept_[slice.parameter].defined() ? counts_[slice.parameter] : slice.size;
}

std::int64_t KeptEntries::count(const Bucket& bucket) const {
  std::int64_t all = 0;
  for (const Slice& slice : bucket.slices) all += count(slice);
  return all;
}

std::vector<std::int64_t> KeptEntries::counts(const Slice& slice, std::int64_t parts) const {
  if (parts == 1) return {count(slice)};
  const torch::Tensor& mask = kept_[slice.parameter];
  std::vector<std::int64_t> counts(static_cast<std::size_t>(parts), slice.size / parts);
  if (mask.defined()) {
    const torch::Tensor sums = mask.view({parts, slice.size / parts}).sum(1);
    std::ranges::copy(elements<std::int64_t>(sums), counts.begin());
  }
  return counts;
}

torch::Tensor KeptEntries::pack(const Bucket& bucket) const {
  std::vector<torch::Tensor> parts;
  for (const Slice& slice : bucket.slices) {
    const torch::Tensor& mask = kept_[slice.parameter];
    parts.push_back(mask.defined() ? bucket.view(slice).masked_select(mask) : bucket.view(slice));
  }
  return torch::cat(parts);
}

void KeptEntries::unpack(const torch::Tensor& packed, const Bucket& bucket,
                         const torch::Tensor& dense) const {
  std::int64_t begin = 0;
  for (const Slice& slice : bucket.slices) {
    const torch::Tensor& mask = kept_[slice.parameter];
    const torch::Tensor part = packed.narrow(0, begin, count(slice));
    const torch::Tensor out = dense.narrow(0, slice.offset, slice.size);
    if (mask.defined()) {
      out.zero_().masked_scatter_(mask, part);
    } else {
      out.copy_(part);
    }
    begin += count(slice);
  }
}

}  // namespace thinpipe::trainer

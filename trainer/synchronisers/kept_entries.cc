// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/kept_entries.hh"

#include <algorithm>
#include <bit>
#include <functional>

#include "trainer/base/tensor_span.hh"

namespace thinpipe::trainer {
namespace {

// The loops below are branch-free, because pruning leaves no pattern that a CPU could predict.

// Returns `value`, or 0 if it is not kept.
float kept_or_zero(float value, bool kept) {
  const std::uint32_t all_bits = 0U - std::uint32_t{kept};
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & all_bits);
}

// packed: room for the kept values.
void pack_kept(std::span<const float> values, std::span<const bool> kept, std::span<float> packed) {
  std::size_t next = 0;
  for (std::size_t i = 0; next < packed.size(); ++i) {
    packed[next] = values[i];
    next += std::size_t{kept[i]};
  }
}

void unpack_kept(std::span<const float> packed, std::span<const bool> kept, std::span<float> values) {
  std::size_t next = 0;
  std::size_t i = 0;
  for (; next < packed.size(); ++i) {
    values[i] = kept_or_zero(packed[next], kept[i]);
    next += std::size_t{kept[i]};
  }
  std::ranges::fill(values.subspan(i), 0.0F);
}

}  // namespace

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

torch::Tensor KeptEntries::mask(const Bucket& bucket) const {
  torch::Tensor all = torch::ones({bucket.size}, torch::kBool);
  for (const Slice& slice : bucket.slices) {
    const torch::Tensor& mask = kept_[slice.parameter];
    if (mask.defined()) all.narrow(0, slice.offset, slice.size).copy_(mask);
  }
  return all;
}

std::vector<bool> KeptEntries::kept_blocks(const Bucket& bucket, std::int64_t block_size) const {
  const torch::Tensor all = mask(bucket);
  const std::span<const bool> kept = elements<bool>(all);
  std::vector<bool> blocks;
  for (std::int64_t begin = 0; begin < bucket.size; begin += block_size) {
    const std::int64_t end = std::min(begin + block_size, bucket.size);
    blocks.push_back(std::any_of(kept.begin() + begin, kept.begin() + end, std::identity()));
  }
  return blocks;
}

torch::Tensor KeptEntries::pack(const Bucket& bucket) const {
  const std::int64_t size = count(bucket);
  if (size == bucket.size) return bucket.gradient;
  torch::Tensor packed = torch::empty({size});
  std::span<float> unfilled = floats(packed);
  for (const Slice& slice : bucket.slices) {
    const std::span<const float> values = floats(bucket.view(slice));
    const std::span<float> part = unfilled.first(static_cast<std::size_t>(count(slice)));
    unfilled = unfilled.subspan(part.size());
    const torch::Tensor& mask = kept_[slice.parameter];
    if (mask.defined()) {
      pack_kept(values, elements<bool>(mask), part);
    } else {
      std::ranges::copy(values, part.begin());
    }
  }
  return packed;
}

void KeptEntries::unpack(const torch::Tensor& packed, const Bucket& bucket,
                         const torch::Tensor& dense) const {
  if (packed.data_ptr() == dense.data_ptr()) return;
  std::span<const float> unread = floats(packed);
  for (const Slice& slice : bucket.slices) {
    const std::span<float> values = floats(dense.narrow(0, slice.offset, slice.size));
    const std::span<const float> part = unread.first(static_cast<std::size_t>(count(slice)));
    unread = unread.subspan(part.size());
    const torch::Tensor& mask = kept_[slice.parameter];
    if (mask.defined()) {
      unpack_kept(part, elements<bool>(mask), values);
    } else {
      std::ranges::copy(part, values.begin());
    }
  }
}

void KeptEntries::clear_pruned(const Bucket& bucket, const torch::Tensor& values) const {
  for (const Slice& slice : bucket.slices) {
    const torch::Tensor& mask = kept_[slice.parameter];
    if (!mask.defined()) continue;
    const std::span<float> part = floats(values.narrow(0, slice.offset, slice.size));
    const std::span<const bool> kept = elements<bool>(mask);
    for (std::size_t i = 0; i < part.size(); ++i) part[i] = kept_or_zero(part[i], kept[i]);
  }
}

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/packed/packed_entries.hh"

#include <algorithm>

namespace thinpipe::trainer {
namespace {

// The mean length from which ranges are copied. Shorter ones take more time than their indices.
constexpr std::size_t kMinMeanRange = 16;

std::int64_t count_non_zero(std::span<const float> values) {
  return std::ranges::count_if(values, [](float value) { return value != 0.0F; });
}

// Returns the number of ranges of true bits.
std::size_t count_ranges(std::span<const bool> bits) {
  std::size_t count = !bits.empty() && bits.front() ? 1 : 0;
  for (std::size_t i = 1; i < bits.size(); ++i) count += static_cast<std::size_t>(bits[i] && !bits[i - 1]);
  return count;
}

}  // namespace

PackedEntries::PackedEntries(const torch::Tensor& kept) : size_(kept.numel()) {
  const torch::Tensor contiguous = kept.contiguous();
  const std::span<const bool> bits(contiguous.data_ptr<bool>(), static_cast<std::size_t>(size_));
  packed_size_ = std::ranges::count(bits, true);
  const std::size_t ranges = count_ranges(bits);
  in_ranges_ = static_cast<std::size_t>(packed_size_) >= kMinMeanRange * ranges;
  in_ranges_ ? find_ranges(bits, ranges) : find_indices(bits);
}

void PackedEntries::find_ranges(std::span<const bool> kept, std::size_t count) {
  ranges_.reserve(count);
  std::uint32_t packed = 0;
  for (auto next = std::ranges::find(kept, true); next != kept.end();) {
    const auto end = std::find(next, kept.end(), false);
    ranges_.push_back({.begin = static_cast<std::uint32_t>(next - kept.begin()),
                       .end = static_cast<std::uint32_t>(end - kept.begin()),
                       .packed_begin = packed});
    packed += static_cast<std::uint32_t>(end - next);
    next = std::find(end, kept.end(), true);
  }
}

void PackedEntries::find_indices(std::span<const bool> kept) {
  // Branch-free, because the bits are unpredictable. The entries after the last kept one are written too, and
  // then dropped.
  indices_.resize(static_cast<std::size_t>(packed_size_) + 1);
  std::uint32_t* next = indices_.data();
  for (std::size_t i = 0; i < kept.size(); ++i) {
    *next = static_cast<std::uint32_t>(i);
    next += kept[i] ? 1 : 0;
  }
  indices_.pop_back();
}

std::int64_t PackedEntries::packed_before(std::int64_t end) const {
  if (!in_ranges_) {
    return std::ranges::lower_bound(indices_, static_cast<std::uint64_t>(end)) - indices_.begin();
  }
  const auto after = std::ranges::partition_point(
      ranges_, [end](const Range& range) { return static_cast<std::int64_t>(range.begin) < end; });
  if (after == ranges_.begin()) return 0;
  const Range& last = *(after - 1);
  return last.packed_begin + (std::min(end, static_cast<std::int64_t>(last.end)) - last.begin);
}

std::vector<std::uint32_t> PackedEntries::indices() const {
  if (!in_ranges_) return indices_;
  std::vector<std::uint32_t> out;
  out.reserve(static_cast<std::size_t>(packed_size_));
  for (const Range& range : ranges_) {
    for (std::uint32_t index = range.begin; index < range.end; ++index) out.push_back(index);
  }
  return out;
}

std::int64_t PackedEntries::gather(std::span<const float> dense, float divisor,
                                   std::span<float> packed) const {
  if (in_ranges_) {
    std::int64_t outside = 0;
    std::size_t previous = 0;
    for (const auto& [begin, end, packed_begin] : ranges_) {
      outside += count_non_zero(dense.subspan(previous, begin - previous));
      for (std::size_t i = 0; i < end - begin; ++i) packed[packed_begin + i] = dense[begin + i] / divisor;
      previous = end;
    }
    return outside + count_non_zero(dense.subspan(previous));
  }
  std::int64_t inside = 0;
  for (std::size_t i = 0; i < indices_.size(); ++i) {
    const float value = dense[indices_[i]];
    inside += value != 0.0F ? 1 : 0;  // before the division, which may round to zero
    packed[i] = value / divisor;
  }
  return count_non_zero(dense) - inside;
}

void PackedEntries::scatter(std::span<const float> packed, std::span<float> dense) const {
  std::ranges::fill(dense, 0.0F);
  for (const auto& [begin, end, packed_begin] : ranges_) {
    std::ranges::copy(packed.subspan(packed_begin, end - begin), dense.subspan(begin).begin());
  }
  for (std::size_t i = 0; i < indices_.size(); ++i) dense[indices_[i]] = packed[i];
}

}  // namespace thinpipe::trainer

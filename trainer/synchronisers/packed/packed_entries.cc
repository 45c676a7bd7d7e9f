#include "trainer/synchronisers/packed/packed_entries.hh"

#include <algorithm>

namespace thinpipe::trainer {
namespace {

std::int64_t count_non_zero(std::span<const float> values) {
  return std::ranges::count_if(values, [](float value) { return value != 0.0F; });
}

}  // namespace

PackedEntries::PackedEntries(const torch::Tensor& kept) : size_(kept.numel()) {
  const torch::Tensor contiguous = kept.contiguous();
  const bool* bits = contiguous.data_ptr<bool>();
  // Branch-free, because the bits are unpredictable. The entries after the last kept one are written too, and
  // then dropped.
  indices_.resize(static_cast<std::size_t>(std::count(bits, bits + size_, true)) + 1);
  std::uint32_t* next = indices_.data();
  for (std::int64_t i = 0; i < size_; ++i) {
    *next = static_cast<std::uint32_t>(i);
    next += bits[i] ? 1 : 0;
  }
  indices_.pop_back();
}

std::int64_t PackedEntries::gather(std::span<const float> dense, float divisor,
                                   std::span<float> packed) const {
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
  for (std::size_t i = 0; i < indices_.size(); ++i) dense[indices_[i]] = packed[i];
}

}  // namespace thinpipe::trainer

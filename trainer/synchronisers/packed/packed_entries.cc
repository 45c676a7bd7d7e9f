#include "trainer/synchronisers/packed_entries.hh"

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
  for (std::int64_t i = 0; i < size_; ++i) {
    if (bits[i]) indices_.push_back(static_cast<std::uint32_t>(i));
  }
}

std::int64_t PackedEntries::gather(std::span<const float> dense, float divisor,
                                   std::span<float> packed) const {
  for (std::size_t i = 0; i < indices_.size(); ++i) packed[i] = dense[indices_[i]];
  // Counted before the division, which may round to zero.
  const std::int64_t outside = count_non_zero(dense) - count_non_zero(packed.first(indices_.size()));
  for (std::size_t i = 0; i < indices_.size(); ++i) packed[i] /= divisor;
  return outside;
}

void PackedEntries::scatter(std::span<const float> packed, std::span<float> dense) const {
  std::ranges::fill(dense, 0.0F);
  for (std::size_t i = 0; i < indices_.size(); ++i) dense[indices_[i]] = packed[i];
}

}  // namespace thinpipe::trainer

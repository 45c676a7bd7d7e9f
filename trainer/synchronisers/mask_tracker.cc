#include "trainer/synchronisers/mask_tracker.hh"

#include <algorithm>

namespace thinpipe::trainer {
namespace {

std::int64_t count_non_zero(std::span<const float> values) {
  return std::ranges::count_if(values, [](float value) { return value != 0.0F; });
}

}  // namespace

MaskTracker::MaskTracker(const torch::Tensor& kept) : size_(kept.numel()) {
  const bool* bits = kept.data_ptr<bool>();
  for (std::int64_t i = 0; i < size_; ++i) {
    if (bits[i]) indices_.push_back(static_cast<std::uint32_t>(i));
  }
}

std::int64_t MaskTracker::gather(std::span<const float> dense, float factor, std::span<float> packed) const {
  for (std::size_t i = 0; i < indices_.size(); ++i) packed[i] = dense[indices_[i]];
  // Counted before the factor is applied, which may round to zero.
  const std::int64_t outside = count_non_zero(dense) - count_non_zero(packed.first(indices_.size()));
  for (std::size_t i = 0; i < indices_.size(); ++i) packed[i] *= factor;
  return outside;
}

void MaskTracker::scatter(std::span<const float> packed, std::span<float> dense) const {
  std::ranges::fill(dense, 0.0F);
  for (std::size_t i = 0; i < indices_.size(); ++i) dense[indices_[i]] = packed[i];
}

}  // namespace thinpipe::trainer

// Which entries of a bucket may be non-zero, known to every worker alike, so that only these need to travel.
//
// DECLARED mode: the pattern is the pruning mask, agreed on when the model was pruned; a bucket is packed
// from its first step. An entry outside the pattern that is non-zero after all has escaped: every worker
// learns it from the reduced flag in the same exchange, repeats the step in full, and packs again from the
// next step on, because the declared mask still holds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/torch.hh"

namespace thinpipe::trainer {

class MaskTracker {
 public:
  // kept: bool [n], true where an entry may be non-zero.
  explicit MaskTracker(const torch::Tensor& kept);

  std::int64_t size() const { return size_; }                             // n
  std::int64_t packed_size() const { return std::ssize(indices_); }       // nnz
  const std::vector<std::uint32_t>& indices() const { return indices_; }  // ascending
  bool is_full() const { return packed_size() == size_; }                 // packing would save nothing

  // packed[i] = dense[indices[i]] · factor. Returns how many non-zero (or NaN) entries lie outside the
  // pattern.
  std::int64_t gather(std::span<const float> dense, float factor, std::span<float> packed) const;

  // dense = 0 outside the pattern, dense[indices[i]] = packed[i] in it.
  void scatter(std::span<const float> packed, std::span<float> dense) const;

 private:
  std::int64_t size_;
  std::vector<std::uint32_t> indices_;
};

}  // namespace thinpipe::trainer

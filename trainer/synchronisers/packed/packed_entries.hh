// SPDX-License-Identifier: Apache-2.0
// The entries of a bucket that may be non-zero, known to every worker, so that only these need to be sent.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {

class PackedEntries {
 public:
  PackedEntries() = default;

  // kept: bool [n], true if an entry may be non-zero.
  explicit PackedEntries(const torch::Tensor& kept);

  std::int64_t size() const { return size_; }                // n
  std::int64_t packed_size() const { return packed_size_; }  // nnz

  // Returns the number of entries before the first `end` ones of the bucket.
  std::int64_t packed_before(std::int64_t end) const;

  // Returns the entries, ascending.
  std::vector<std::uint32_t> indices() const;

  // Sets packed[i] = dense[indices[i]] / divisor. Returns the number of non-zero (or NaN) entries elsewhere.
  std::int64_t gather(std::span<const float> dense, float divisor, std::span<float> packed) const;

  // Sets dense[indices[i]] = packed[i], and 0 elsewhere.
  void scatter(std::span<const float> packed, std::span<float> dense) const;

 private:
  // Neighbouring entries.
  struct Range {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::uint32_t packed_begin = 0;
  };

  void find_ranges(std::span<const bool> kept, std::size_t count);
  void find_indices(std::span<const bool> kept);

  std::int64_t size_ = 0;
  std::int64_t packed_size_ = 0;
  // If ranges are long, as after pruning whole filters, copying them takes less time and memory than indices.
  bool in_ranges_ = false;
  std::vector<Range> ranges_;           // ascending, unless there are indices
  std::vector<std::uint32_t> indices_;  // ascending, unless there are ranges
};

}  // namespace thinpipe::trainer

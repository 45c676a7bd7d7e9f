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

  std::int64_t size() const { return size_; }                             // n
  std::int64_t packed_size() const { return std::ssize(indices_); }       // nnz
  const std::vector<std::uint32_t>& indices() const { return indices_; }  // ascending

  // Sets packed[i] = dense[indices[i]] / divisor. Returns the number of non-zero (or NaN) entries elsewhere.
  std::int64_t gather(std::span<const float> dense, float divisor, std::span<float> packed) const;

  // Sets dense[indices[i]] = packed[i], and 0 elsewhere.
  void scatter(std::span<const float> packed, std::span<float> dense) const;

 private:
  std::int64_t size_ = 0;
  std::vector<std::uint32_t> indices_;
};

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/sparse/threshold_choice.hh"

#include <algorithm>
#include <cmath>
#include <limits>

#include "trainer/synchronisers/sparse/top_k.hh"

namespace thinpipe::trainer {

std::vector<std::uint32_t> indices_above(std::span<const float> values, float threshold) {
  std::vector<std::uint32_t> indices;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool at_most = std::abs(values[i]) <= threshold;  // false for NaN
    if (!at_most) indices.push_back(static_cast<std::uint32_t>(i));
  }
  return indices;
}

LargestEntries choose_largest(std::span<const float> values, std::int64_t k) {
  const auto wanted = static_cast<std::size_t>(k);
  LargestEntries out{.indices = top_k_indices(values, std::min(wanted, values.size()))};
  std::erase_if(out.indices, [&](std::uint32_t i) { return values[i] == 0; });
  if (out.indices.size() < wanted) return out;
  float least = std::numeric_limits<float>::infinity();
  for (const std::uint32_t i : out.indices) least = std::min(least, std::abs(values[i]));
  out.threshold = std::nextafter(least, 0.0F);
  return out;
}

std::vector<std::int64_t> balanced_boundaries(std::span<const std::uint32_t> indices, std::int64_t n,
                                              int workers) {
  const std::int64_t count = std::ssize(indices);
  std::vector<std::int64_t> boundaries{0};
  for (int r = 1; r < workers; ++r) {
    boundaries.push_back(count < workers ? r * n / workers
                                         : indices[static_cast<std::size_t>(r * count / workers)]);
  }
  boundaries.push_back(n);
  return boundaries;
}

}  // namespace thinpipe::trainer

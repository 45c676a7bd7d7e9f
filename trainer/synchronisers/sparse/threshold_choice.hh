// SPDX-License-Identifier: Apache-2.0
// Chooses large entries by a threshold, in one pass, and estimates the threshold exactly from time to time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe::trainer {

// Returns the indices, ascending, of the |values| above the threshold; NaN is above any threshold.
std::vector<std::uint32_t> indices_above(std::span<const float> values, float threshold);

struct LargestEntries {
  std::vector<std::uint32_t> indices;  // ascending
  // The largest number below the smallest of the k, so indices_above() selects the same entries unless there
  // are ties. 0 if fewer than k values are not zero.
  float threshold = 0;
};

// Returns the k largest |values| without zeros, in the order of top_k_indices().
LargestEntries choose_largest(std::span<const float> values, std::int64_t k);

// Divides n entries into one region per worker, each with about the same number of `indices`, which ascend
// and are below n. Region r is from boundaries[r] to below boundaries[r + 1]. The regions have equal sizes if
// there are fewer indices than workers.
std::vector<std::int64_t> balanced_boundaries(std::span<const std::uint32_t> indices, std::int64_t n,
                                              int workers);

}  // namespace thinpipe::trainer

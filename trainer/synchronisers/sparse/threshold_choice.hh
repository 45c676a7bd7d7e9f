// Choosing large entries by a threshold, which costs one pass, and estimating the threshold exactly now and
// then.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe::trainer {

// The indices, ascending, of the |values| above the threshold; NaN is above any.
std::vector<std::uint32_t> indices_above(std::span<const float> values, float threshold);

struct LargestEntries {
  std::vector<std::uint32_t> indices;  // ascending
  // The largest number below the least of the k: but for ties, indices_above() it gives the same. 0 where
  // fewer than k are not zero.
  float threshold = 0;
};

// The k largest |values| less the zeros among them, as top_k_indices() orders them.
LargestEntries choose_largest(std::span<const float> values, std::int64_t k);

// Regions of n entries, one for each worker, that hold about as many of the indices each: region r is from
// boundaries[r] to below boundaries[r + 1]. Regions of one size where there are fewer indices than workers.
// indices: ascending, below n.
std::vector<std::int64_t> balanced_boundaries(std::span<const std::uint32_t> indices, std::int64_t n,
                                              int workers);

}  // namespace thinpipe::trainer

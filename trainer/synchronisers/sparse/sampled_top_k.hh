// Selection of the largest entries by a threshold that a sample gives: one pass over the values where an
// exact selection takes several.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe::trainer {

struct SampledSelection {
  double ratio = 1;         // kept fraction: k = kept_count(ratio, n)
  double sample = 1;        // fraction of the values that are looked at for the threshold; 1: exact
  std::uint32_t start = 0;  // a random word: where the strided sample begins
};

// Indices, ascending, of the largest |values|, as many as 0.8k to k of them unless the sample misleads, and
// never none or more than k. The sample is of every (32j+1)-th value, at least ⌈2/ratio⌉ of them; where that
// would be all, or all are wanted, the selection is exact. Its ⌈ratio·size⌉-th largest is the threshold,
// which is lowered by a fifth up to ten times while fewer than 0.8k reach it. Where more than k do, the k
// largest of these are taken. NaN counts as the largest.
std::vector<std::uint32_t> sampled_top_k_indices(std::span<const float> values,
                                                 const SampledSelection& selection);

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// Selects the largest entries by a threshold found in a sample: one pass over the values, where an exact
// selection takes several.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe::trainer {

struct SampledSelection {
  double ratio = 1;         // kept fraction: k = kept_count(ratio, n)
  double sample = 1;        // fraction of the values sampled for the threshold; 1: exact
  std::uint32_t start = 0;  // a random word: where the strided sample begins
};

// Returns the indices, ascending, of the largest |values|: 0.8k to k of them unless the sample misleads,
// never none and never more than k.
//
// The sample takes every (32j+1)-th value, at least ⌈2/ratio⌉ of them. The selection is exact if that would
// be all values, or if all are to be kept. The threshold is the ⌈ratio·size⌉-th largest of the sample. It is
// lowered by a fifth up to ten times while fewer than 0.8k values reach it. If more than k reach it, the k
// largest of these are taken. NaN counts as the largest.
std::vector<std::uint32_t> sampled_top_k_indices(std::span<const float> values,
                                                 const SampledSelection& selection);

}  // namespace thinpipe::trainer

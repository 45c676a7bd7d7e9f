// SPDX-License-Identifier: Apache-2.0
// Exact selection of the k entries of largest magnitude.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe::trainer {

// Returns the indices, ascending, of the k largest |values| under the total order (|x| descending, index
// ascending). NaN counts as larger than any number, so that it cannot hide. 0 <= k <= values.size() < 2^32.
//
// Radix selection on the bit patterns: one pass over the values for the first of three digits, and one for
// the candidates, in which the other digits are found. If there are many candidates, four passes over the
// values.
std::vector<std::uint32_t> top_k_indices(std::span<const float> values, std::size_t k);

}  // namespace thinpipe::trainer

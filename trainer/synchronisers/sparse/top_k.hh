// Exact selection of the k entries of largest magnitude.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe::trainer {

// The indices, ascending, of the k largest |values| under the total order (|x| descending, index ascending);
// NaN counts as larger than any number, so that it cannot hide. 0 <= k <= values.size(). Radix selection on
// the bit patterns: three passes over the values and one over the survivors, whatever their distribution.
std::vector<std::uint32_t> top_k_indices(std::span<const float> values, std::size_t k);

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// Splits a range of a bucket's entries by layer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace thinpipe::trainer {

// Calls part(l, begin, size) for the part of each layer l in [begin, end). layer_ends: where each layer ends
// among the entries, ascending.
template <class Part>
void for_each_layer_part(std::span<const std::size_t> layer_ends, std::size_t begin, std::size_t end,
                         Part part) {
  auto l = static_cast<std::size_t>(std::ranges::upper_bound(layer_ends, begin) - layer_ends.begin());
  for (; l < layer_ends.size() && begin < end; ++l) {
    const std::size_t stop = std::min(layer_ends[l], end);
    part(l, begin, stop - begin);
    begin = stop;
  }
}

}  // namespace thinpipe::trainer

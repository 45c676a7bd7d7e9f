// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/group_options.hh"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace thinpipe {

std::vector<int> GroupOptions::reduction_tree_or_binary() const {
  if (!reduction_tree.empty()) return reduction_tree;
  std::vector<int> binary(static_cast<std::size_t>(world_size), -1);
  for (int child = 1; child < world_size; ++child) binary[static_cast<std::size_t>(child)] = (child - 1) / 2;
  return binary;
}

void check_tree(const std::vector<int>& reduction_tree, std::int64_t world_size, const Place& place) {
  if (reduction_tree.empty()) return;
  if (std::cmp_not_equal(reduction_tree.size(), world_size)) {
    throw InputError(place, fmt::format("must have {} entries, one per worker, but has {}", world_size,
                                        reduction_tree.size()));
  }
  for (std::size_t rank = 0; rank < reduction_tree.size(); ++rank) {
    if (reduction_tree[rank] < -1 || reduction_tree[rank] >= world_size) {
      throw InputError(place / rank, fmt::format("must be at least -1 and below {}, but is {}", world_size,
                                                 reduction_tree[rank]));
    }
  }
  for (std::size_t rank = 0; rank < reduction_tree.size(); ++rank) {
    std::int64_t steps = 0;
    for (int next = reduction_tree[rank]; next >= 0; next = reduction_tree[static_cast<std::size_t>(next)]) {
      if (++steps == world_size)
        throw InputError(place / rank, "does not lead to the root: the tree has a loop");
    }
  }
  if (std::ranges::count(reduction_tree, -1) > 1) throw InputError(place, "has several roots, entries of -1");
}

}  // namespace thinpipe

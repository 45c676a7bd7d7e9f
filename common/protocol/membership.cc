#include "common/protocol/membership.hh"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace thinpipe {

std::vector<int> Membership::tree() const {
  if (!parents.empty()) return parents;
  std::vector<int> binary(static_cast<std::size_t>(world_size), -1);
  for (int child = 1; child < world_size; ++child) binary[static_cast<std::size_t>(child)] = (child - 1) / 2;
  return binary;
}

void check_tree(const std::vector<int>& parents, std::int64_t world_size, const Place& place) {
  if (parents.empty()) return;
  if (std::cmp_not_equal(parents.size(), world_size)) {
    throw InputError(
        place, fmt::format("must have {} entries, one per worker, but has {}", world_size, parents.size()));
  }
  for (std::size_t rank = 0; rank < parents.size(); ++rank) {
    if (parents[rank] < -1 || parents[rank] >= world_size) {
      throw InputError(place / rank,
                       fmt::format("must be at least -1 and below {}, but is {}", world_size, parents[rank]));
    }
  }
  for (std::size_t rank = 0; rank < parents.size(); ++rank) {
    std::int64_t steps = 0;
    for (int next = parents[rank]; next >= 0; next = parents[static_cast<std::size_t>(next)]) {
      if (++steps == world_size)
        throw InputError(place / rank, "does not lead to the root: the tree has a loop");
    }
  }
  if (std::ranges::count(parents, -1) > 1) throw InputError(place, "has several roots, entries of -1");
}

}  // namespace thinpipe

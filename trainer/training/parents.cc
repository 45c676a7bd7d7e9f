#include "trainer/training/parents.hh"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace thinpipe::trainer {

std::vector<int> read_parents(JsonObject& object, std::int64_t world_size) {
  std::vector<std::int64_t> parents;
  object.read("parents", parents, {.at_least = -1, .below = static_cast<double>(world_size)});
  const Place place = object.place_of("parents");
  if (!parents.empty() && std::cmp_not_equal(parents.size(), world_size)) {
    throw InputError(
        place, fmt::format("must have {} entries, one per worker, but has {}", world_size, parents.size()));
  }
  for (std::size_t rank = 0; rank < parents.size(); ++rank) {
    std::int64_t steps = 0;
    for (std::int64_t next = parents[rank]; next >= 0; next = parents[static_cast<std::size_t>(next)]) {
      if (++steps == world_size)
        throw InputError(place / rank, "does not lead to the root: the tree has a loop");
    }
  }
  if (std::ranges::count(parents, -1) > 1) throw InputError(place, "has several roots, entries of -1");
  return {parents.begin(), parents.end()};
}

}  // namespace thinpipe::trainer

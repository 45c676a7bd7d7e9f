#include "trainer/collectives/membership.hh"

#include <cstddef>

namespace thinpipe::trainer {

std::vector<int> Membership::tree() const {
  if (!parents.empty()) return parents;
  std::vector<int> binary(static_cast<std::size_t>(world_size), -1);
  for (int child = 1; child < world_size; ++child) binary[static_cast<std::size_t>(child)] = (child - 1) / 2;
  return binary;
}

}  // namespace thinpipe::trainer

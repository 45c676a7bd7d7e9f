// Trees of workers for tests.
#pragma once

#include <vector>

namespace thinpipe::trainer::testing {

// The paper's 3 + 2 + 3 as netem/worker_tree.hh makes a tree of it; of other sizes, as of an unknown network.
inline std::vector<int> parents_for(int world_size) {
  return world_size == 8 ? std::vector{4, 0, 0, -1, 3, 3, 5, 5} : std::vector<int>{};
}

}  // namespace thinpipe::trainer::testing

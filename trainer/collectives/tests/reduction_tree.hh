// SPDX-License-Identifier: Apache-2.0
// Reduction trees for tests.
#pragma once

#include <vector>

namespace thinpipe::trainer::testing {

// Returns the tree that netem/topology/reduction_tree.hh makes of the paper's 3 + 2 + 3 workers; for other
// sizes, that of an unknown network.
inline std::vector<int> reduction_tree_for(int world_size) {
  return world_size == 8 ? std::vector{4, 0, 0, -1, 3, 3, 5, 5} : std::vector<int>{};
}

}  // namespace thinpipe::trainer::testing

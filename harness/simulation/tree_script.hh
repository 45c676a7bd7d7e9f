// The scripts of collectives along a reduction tree.
#pragma once

#include <optional>

#include "harness/simulation/script.hh"

namespace thinpipe {

// Returns nullopt for a call that does not use the tree.
std::optional<Script> tree_script_of(const CollectiveCall& call, int rank, const std::vector<int>& parents);

}  // namespace thinpipe

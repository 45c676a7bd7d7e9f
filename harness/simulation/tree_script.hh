// The scripts of collectives that go along a tree of the workers.
#pragma once

#include <optional>

#include "harness/simulation/script.hh"

namespace thinpipe {

// Nothing for a call that takes another way.
std::optional<Script> tree_script_of(const CollectiveCall& call, int rank, const std::vector<int>& parents);

}  // namespace thinpipe

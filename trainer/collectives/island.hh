// The "island" backend: along a tree of the workers that crosses each bottleneck between their islands once.
#pragma once

#include "trainer/collectives/gloo.hh"

namespace thinpipe::trainer {

// Connects with its neighbours in the tree, and by Gloo with all. Throws CollectiveError.
std::unique_ptr<Collective> make_island(const GlooOptions& options, const Membership& membership);

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// The "island" backend: a reduction tree that crosses each bottleneck between the workers' islands once.
#pragma once

#include "trainer/collectives/backends/gloo.hh"

namespace thinpipe::trainer {

// Connects to its neighbours in the tree, and by Gloo to all workers. Throws CollectiveError.
std::unique_ptr<Collective> make_island(const GlooOptions& options, const GroupOptions& group_options);

}  // namespace thinpipe::trainer

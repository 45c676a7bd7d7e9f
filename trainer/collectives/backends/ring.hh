// SPDX-License-Identifier: Apache-2.0
// The "ring" backend: a ring through all workers by rank, as one stream of bytes.
#pragma once

#include "trainer/collectives/backends/gloo.hh"

namespace thinpipe::trainer {

// Connects to both neighbours, and by Gloo to all workers. Throws CollectiveError.
std::unique_ptr<Collective> make_ring(const GlooOptions& options, const GroupOptions& group_options);

}  // namespace thinpipe::trainer

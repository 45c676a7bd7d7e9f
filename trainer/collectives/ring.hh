// The "ring" backend: around all workers by rank, as one stream of bytes.
#pragma once

#include "trainer/collectives/gloo.hh"

namespace thinpipe::trainer {

// Connects with both neighbours, and by Gloo with all. Throws CollectiveError.
std::unique_ptr<Collective> make_ring(const GlooOptions& options, const Membership& membership);

}  // namespace thinpipe::trainer

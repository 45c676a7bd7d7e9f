// SPDX-License-Identifier: Apache-2.0
// Gloo over connections that exist already. Gloo's own way to connect accepts whoever comes first, and fails if that is a
// stranger.
#pragma once

#include <chrono>
#include <map>
#include <memory>

#include <gloo/context.h>

#include "common/support/file_descriptor.hh"

namespace thinpipe::trainer {

// sockets: connected to all other workers, by rank. Gloo's exceptions pass through unchanged.
std::shared_ptr<gloo::Context> gloo_context_over(int rank, int world_size,
                                                 std::map<int, FileDescriptor> sockets,
                                                 std::chrono::milliseconds timeout);

}  // namespace thinpipe::trainer

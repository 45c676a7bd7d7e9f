// SPDX-License-Identifier: Apache-2.0
// Messages from each worker to each, over Gloo's unbound buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <gloo/context.h>

namespace thinpipe::trainer {

// Sends a block of `sent` to every rank and receives one from each into `received`; blocks lie in the order of ranks
// and have these sizes, which may be zero. Gloo's exceptions pass through unchanged. `slot`: not used by any other
// operation.
//
// All receives are posted before the first send. gloo::alltoallv() posts them in turn, so a worker's notice that it
// can receive waits in the connection behind the block that it sends to the same peer, and two workers that send
// to each other take turns instead of using both directions of their links.
void gloo_all_to_all(gloo::Context& context, std::span<const std::byte> sent,
                     std::span<const std::size_t> sent_bytes, std::span<std::byte> received,
                     std::span<const std::size_t> received_bytes, std::uint64_t slot);

}  // namespace thinpipe::trainer

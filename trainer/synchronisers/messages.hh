// SPDX-License-Identifier: Apache-2.0
// Byte messages between all workers, in the patterns that methods use.
#pragma once

#include <vector>

#include "trainer/collectives/collective.hh"

namespace thinpipe::trainer {

// One uint8 tensor per worker, in ascending order of rank.
using Messages = std::vector<torch::Tensor>;

// Returns `bytes` as a uint8 tensor without copying them.
torch::Tensor message_of(std::vector<std::uint8_t> bytes);

// Returns every worker's message. All messages have the same size.
Messages gather_equal(const torch::Tensor& message, Collective& network);

// Returns every worker's message, of any size. The sizes are sent first, 4 bytes each.
Messages gather_any(const torch::Tensor& message, Collective& network);

// Sends outgoing[r] to worker r, and returns the messages received from each worker. All messages of all workers
// have the same size.
Messages exchange_equal(const Messages& outgoing, Collective& network);

// Sends outgoing[r], of any size, to worker r, and returns the messages received from each worker. The sizes
// are sent first, 4 bytes each.
Messages exchange_any(const Messages& outgoing, Collective& network);

}  // namespace thinpipe::trainer

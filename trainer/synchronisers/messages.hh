// Messages of bytes between all workers, in the shapes that methods send them.
#pragma once

#include <vector>

#include "trainer/collectives/collective.hh"

namespace thinpipe::trainer {

// uint8 tensors, one of each worker, ranks ascending.
using Messages = std::vector<torch::Tensor>;

// uint8: these bytes, in the memory that they are in.
torch::Tensor message_of(std::vector<std::uint8_t> bytes);

// Every worker's message to all. All are of one size.
Messages gather_equal(const torch::Tensor& message, Collective& network);

// Every worker's message to all, of whatever size: the sizes go first, 4 bytes each.
Messages gather_any(const torch::Tensor& message, Collective& network);

// outgoing[r] to worker r, of whatever size: the sizes go first, 4 bytes each. Returns what came from each.
Messages exchange_any(const Messages& outgoing, Collective& network);

}  // namespace thinpipe::trainer

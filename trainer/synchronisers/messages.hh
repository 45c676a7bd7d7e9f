// SPDX-License-Identifier: Apache-2.0
// Byte messages between all workers, in the patterns that methods use.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "trainer/base/bucket.hh"
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

// Replaces the bucket's gradient by the mean over workers of what their messages, all of one size, decode to.
// add(message, values): adds it to the values, float32. own: set to what this worker's message decodes to; may be null.
void gather_mean(const torch::Tensor& message,
                 const std::function<void(const torch::Tensor& message, std::span<float> values)>& add,
                 Bucket& bucket, Collective& network, torch::Tensor* own);

}  // namespace thinpipe::trainer

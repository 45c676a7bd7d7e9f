// SPDX-License-Identifier: Apache-2.0
// Byte messages between workers at equal distances in rank, all of the same size.
#pragma once

#include "trainer/synchronisers/expected_traffic.hh"
#include "trainer/synchronisers/messages.hh"

namespace thinpipe::trainer {

// The workers of ranks first, first + stride, first + 2 stride, and so on, by their place from 0. The last is followed
// by the first.
struct Circle {
  int first = 0;
  int stride = 1;
  int size = 1;

  // place: from -size.
  int rank_at(int place) const { return first + (place + size) % size * stride; }
};

// Sends the message to worker `to`, and returns one of the same size from worker `from`.
torch::Tensor pass_on(const torch::Tensor& message, int to, int from, Collective& network);

// Returns the message of each place of the circle, in ⌈log2 size⌉ rounds (Bruck's algorithm). `place`: this
// worker's.
Messages gather_around(const torch::Tensor& message, const Circle& circle, int place, Collective& network);

// Returns the traffic of gather_around() in circles of `size` workers, if each group of size · stride consecutive
// ranks consists of such circles.
ExpectedTraffic gather_around_traffic(std::int64_t message_bytes, int size, int stride);

}  // namespace thinpipe::trainer

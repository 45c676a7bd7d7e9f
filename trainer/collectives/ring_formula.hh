// SPDX-License-Identifier: Apache-2.0
// The bytes that one worker sends in each collective, without protocol headers. If ranks follow the network's
// order, a ring crosses every cut once per direction, so these are also the bytes on each bottleneck in each
// direction. Along a tree (pipelined.hh) all workers together send as many.
//
// The equations are those of Patarasu and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations" (2009), for the ring, and of the binomial tree that Gloo broadcasts along.
#pragma once

#include <bit>
#include <cstdint>
#include <numeric>
#include <span>

namespace thinpipe::trainer {

// Returns the mean over workers. A single worker's bytes differ from it if `payload_bytes` does not divide
// into equal chunks; the sum over workers is exactly 2 (N-1) payload_bytes.
constexpr double ring_all_reduce_sent_bytes(double payload_bytes, int world_size) {
  return 2 * payload_bytes * (world_size - 1) / world_size;
}

// Every worker contributes `contribution_bytes`.
constexpr double ring_all_gather_sent_bytes(double contribution_bytes, int world_size) {
  return contribution_bytes * (world_size - 1);
}

// Worker r contributes bytes[r]. Blocks travel towards higher ranks: `rank` forwards every block, its own
// first, except the one that its successor contributed. The mean over workers is (N-1)/N of the sum of all
// blocks.
constexpr std::int64_t ring_all_gather_v_sent_bytes(std::span<const std::int64_t> bytes, int rank) {
  const auto world_size = static_cast<int>(bytes.size());
  if (world_size == 1) return 0;
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}) - bytes[(rank + 1) % world_size];
}

// Returns the number of peers that `rank` sends to. Counted from the root, worker v sends to v + 2^i for
// every 2^i > v for which that worker exists. The root sends to ceil(log2 N) peers, and all workers together
// to N-1.
constexpr int binomial_broadcast_sends(int rank, int root, int world_size) {
  const auto size = static_cast<unsigned>(world_size);
  const auto virtual_rank = static_cast<unsigned>((rank - root + world_size) % world_size);
  int sends = 0;
  for (unsigned step = std::bit_ceil(virtual_rank + 1); virtual_rank + step < size; step *= 2) ++sends;
  return sends;
}

constexpr std::int64_t binomial_broadcast_sent_bytes(std::int64_t tensor_bytes, int rank, int root,
                                                     int world_size) {
  return tensor_bytes * binomial_broadcast_sends(rank, root, world_size);
}

}  // namespace thinpipe::trainer

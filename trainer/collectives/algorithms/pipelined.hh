// SPDX-License-Identifier: Apache-2.0
// All-reduce and all-gather as streams of bytes. Each worker forwards data as soon as they arrive, so every
// link is busy from nearly the first byte to the last, for any number of hops. One thread; the only copies
// are into and out of sockets; memory for one chunk per child.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/protocol/call.hh"
#include "trainer/collectives/code_chunks.hh"
#include "trainer/collectives/reduction.hh"
#include "trainer/collectives/transport/peer.hh"

namespace thinpipe::trainer {

// A vector that is reduced in place.
struct Reducible {
  std::span<std::byte> bytes;
  std::size_t element_bytes = 1;
  Reduce reduce = nullptr;
};

// A worker's neighbours in a tree.
struct TreeNeighbours {
  Peer* parent = nullptr;       // null at the root
  std::vector<Peer*> children;  // by ascending rank
};

// Sums go up the tree and the result comes down: each edge carries the vector once in each direction, both at
// the same time. The order of a sum does not depend on the element's position: a worker's own value, then its
// children's by rank.
void tree_all_reduce(const Reducible& vector, const TreeNeighbours& neighbours, double timeout_s);

// The ring of Patarasu and Yuan (2009), forwarding each block while it still arrives. 2 (N-1) / N of the
// vector go to the next worker. The order in which an element is summed depends on its block.
void ring_all_reduce(const Reducible& vector, int rank, int world_size, Peer& next, Peer& previous,
                     double timeout_s);

// In each of log2(N) hops two workers swap their vectors and both sum: the minimum number of hops, and
// log2(N) times the vector. partners: the workers whose ranks differ from this one's in the first bit, in the
// second, and so on; N is a power of two. Every element is summed in the same order on every worker.
void recursive_doubling_all_reduce(const Reducible& vector, int rank, std::span<Peer* const> partners,
                                   double timeout_s);

// Fills `bytes`, which has this worker's own block, with every worker's block, on every worker. Each block
// except the next worker's own is forwarded to the next worker. Block r is the block_bytes[r] bytes after
// those of lower ranks.
void ring_all_gather(std::span<std::byte> bytes, std::span<const std::size_t> block_bytes, std::size_t rank,
                     Peer& next, Peer& previous, double timeout_s);

// A neighbour in a tree, and the ranks whose blocks come from it.
struct Branch {
  Peer* peer = nullptr;
  std::vector<std::size_t> ranks;  // in the order in which the peer sends them
};

// Fills `bytes`, which has this worker's own block, with every worker's block, on every worker. Each edge
// carries each block once, in one direction. Block r is the block_bytes[r] bytes after those of lower ranks.
void tree_all_gather(std::span<std::byte> bytes, std::span<const std::size_t> block_bytes, std::size_t rank,
                     const std::vector<Branch>& branches, double timeout_s);

// Sums codes in place, none larger in magnitude than `largest`. A chunk is produced just before it can first
// be sent, and consumed once it has arrived from all workers. In each direction, both at the same time, an
// edge carries the sum of the workers behind it, in as few bits as it may need (bits_of_code_sum). Integers
// have the same sum in every order, so there is no root, and no worker gets its own part back. Needs memory
// for the incoming data.
void tree_all_reduce_quantised(std::span<std::int8_t> codes, int largest, const CodeChunks& chunks,
                               const std::vector<Branch>& branches, double timeout_s);

// Returns the bytes that one worker sends for that: the mean over workers. parents: as
// GroupOptions::reduction_tree, not empty.
double tree_all_reduce_quantised_sent_bytes(std::int64_t codes, int largest, const std::vector<int>& parents);

// Sums vectors in place, of which each worker has entries at `indices`, ascending, and zeros elsewhere. Up
// the tree, each edge carries the sums of the entries below it. Down the tree, it carries the final sums at
// the indices that workers elsewhere have (sparse_block.hh). Both directions are busy at the same time, block
// by block. Elements are summed in tree_all_reduce's order. Needs memory for a bit per element and neighbour.
// Returns the bytes over this worker's edges, in ascending order of neighbour.
std::vector<EdgeBytes> tree_sparse_all_reduce(std::span<float> vector, std::span<const std::uint32_t> indices,
                                              const TreeNeighbours& neighbours, double timeout_s);

// Sends as many bytes over the same edges, for a vector of `elements` elements, without having the entries.
void replay_tree_sparse_all_reduce(std::size_t elements, std::span<const EdgeBytes> edges,
                                   const TreeNeighbours& neighbours, double timeout_s);

// Returns how many bytes to wait for at a time: a 256th of all, so that filling and draining a pipeline of a
// few hops costs about a hundredth. At least as many as are worth a wake-up, and at most as many as stay in a
// cache.
constexpr std::size_t chunk_of(std::size_t bytes) {
  return std::clamp(bytes / 256, std::size_t{4} << 10, std::size_t{256} << 10);
}

// Runs an exchange to its end, sleeping whenever it has to wait.
template <class Exchange>
void run_to_completion(Exchange&& exchange, double timeout_s) {
  PeerWait wait(timeout_s);
  while (true) {
    exchange.progress(wait);
    if (exchange.done()) return;
    exchange.await(wait);
    wait.sleep();
  }
}

}  // namespace thinpipe::trainer

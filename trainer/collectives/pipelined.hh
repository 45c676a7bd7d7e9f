// All-reduce and all-gather as streams of bytes: each worker passes on what it has as soon as it has it, so
// that every link on the way is busy from nearly the first byte to the last, whatever the number of hops.
// One thread, no copies but those into and out of sockets, and of memory a chunk for each child.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/replay/call.hh"
#include "trainer/collectives/code_pieces.hh"
#include "trainer/collectives/peer.hh"
#include "trainer/collectives/reduction.hh"

namespace thinpipe::trainer {

// A vector that is reduced in place.
struct Reducible {
  std::span<std::byte> bytes;
  std::size_t element_bytes = 1;
  Reduce reduce = nullptr;
};

// The workers around one of a tree.
struct TreePlace {
  Peer* parent = nullptr;       // null at the root
  std::vector<Peer*> children;  // by ascending rank
};

// Sums go up the tree, the result comes down: each edge carries the vector once in each direction, and both
// at a time. Every element is summed in the same order, wherever it stands in the vector: a worker's own,
// then its children's by rank.
void tree_all_reduce(const Reducible& vector, const TreePlace& place, double timeout_s);

// The ring of Patarasu and Yuan (2009), in which a block is passed on while it still comes in. 2 (N-1) / N of
// the vector go to the next worker. The order in which an element is summed depends on its block.
void ring_all_reduce(const Reducible& vector, int rank, int world_size, Peer& next, Peer& previous,
                     double timeout_s);

// In each of log2(N) hops two workers swap what they have, and both sum it up: the fewest hops there are, and
// log2(N) times the vector. partners: those of this worker, whose ranks differ from its own in the first bit,
// in the second and so on; N is a power of two. Every element is summed in the same order at every worker.
void hypercube_all_reduce(const Reducible& vector, int rank, std::span<Peer* const> partners,
                          double timeout_s);

// Every worker's block in `bytes`, of which this worker's own is there, at every worker: all but the next
// worker's go on to it. Block r is the block_bytes[r] bytes after those of lower ranks.
void ring_all_gather(std::span<std::byte> bytes, std::span<const std::size_t> block_bytes, std::size_t rank,
                     Peer& next, Peer& previous, double timeout_s);

// A neighbour in a tree, and whose blocks come from there.
struct Branch {
  Peer* peer = nullptr;
  std::vector<std::size_t> ranks;  // in the order in which they come, which the peer knows too
};

// Every worker's block in `bytes`, of which this worker's own is there, at every worker: each edge carries
// each block once, one way. Block r is the block_bytes[r] bytes after those of lower ranks.
void tree_all_gather(std::span<std::byte> bytes, std::span<const std::size_t> block_bytes, std::size_t rank,
                     const std::vector<Branch>& branches, double timeout_s);

// The sums, in place, of codes of which no worker has a larger one than `largest`: pieces are made right
// before their first way out has room for them, and taken once they have come from everyone. Each edge
// carries, in each direction and both at a time, the sum of the workers behind it, in as few bits as that may
// need (bits_of_code_sum): integers have the same sum in every order, so that nobody need be the root and
// nothing is carried back to those it came from. Of memory, what comes in.
void tree_code_sum(std::span<std::int8_t> codes, int largest, const CodePieces& pieces,
                   const std::vector<Branch>& branches, double timeout_s);

// What one of the workers sends for that, the mean over workers. parents: as Membership::parents, a tree.
double tree_code_sum_sent_bytes(std::int64_t codes, int largest, const std::vector<int>& parents);

// The sum, in place, of vectors of which each worker has entries at `places`, ascending, and zeros elsewhere.
// Up the tree each edge carries the sums of the entries below it, and down, of those that others have, the
// sums of all (sparse_block.hh), both at a time and block by block. An element is summed in tree_all_reduce's
// order. Of memory, a bit for each element and neighbour.
std::vector<EdgeBytes> tree_entry_sum(std::span<float> vector, std::span<const std::uint32_t> places,
                                      const TreePlace& place, double timeout_s);

// As many bytes over the same edges, in a vector of so many elements, for who has not the entries.
void tree_entry_pass(std::size_t elements, std::span<const EdgeBytes> edges, const TreePlace& place,
                     double timeout_s);

// How many bytes to wait for at a time: a 256th of all, so that filling and draining a pipe of a few hops
// costs about a hundredth, within what is worth a wake-up and what stays in a cache.
constexpr std::size_t chunk_of(std::size_t bytes) {
  return std::clamp(bytes / 256, std::size_t{4} << 10, std::size_t{256} << 10);
}

// Has one of them done as far as it goes, and sleeps wherever it has to wait.
template <class Exchange>
void run_to_its_end(Exchange&& exchange, double timeout_s) {
  PeerWait wait(timeout_s);
  while (true) {
    exchange.go_on(wait);
    if (exchange.done()) return;
    exchange.await(wait);
    wait.sleep();
  }
}

}  // namespace thinpipe::trainer

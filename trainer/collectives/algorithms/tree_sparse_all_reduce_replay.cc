// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "trainer/collectives/algorithms/pipelined.hh"
#include "trainer/collectives/sparse_block.hh"

namespace thinpipe::trainer {
namespace {

// Assumes blocks of equal length, and sends zeros.
class TreeSparseAllReduceReplay {
 public:
  TreeSparseAllReduceReplay(std::size_t elements, std::span<const EdgeBytes> edges,
                            const TreeNeighbours& neighbours)
      : blocks_(Blocks{elements}.count()), parent_(neighbours.parent) {
    std::vector<Peer*> peers = neighbours.children;
    if (parent_ != nullptr) peers.push_back(parent_);
    std::size_t max_bytes = 0;
    for (Peer* const peer : peers) {
      const auto edge = std::ranges::find(edges, peer->rank(), &EdgeBytes::neighbour);
      if (edge == edges.end())
        throw Error(fmt::format("no byte counts are given for the edge to rank {}", peer->rank()));
      const Connection& connection =
          connections_.emplace_back(Connection{.peer = peer,
                                               .in_bytes = static_cast<std::size_t>(edge->received),
                                               .out_bytes = static_cast<std::size_t>(edge->sent)});
      max_bytes = std::max({max_bytes, connection.in_bytes, connection.out_bytes});
    }
    chunk_ = chunk_of(max_bytes);
    zeros_.resize(chunk_);
  }

  bool done() const {
    return std::ranges::all_of(connections_, [](const Connection& connection) {
      return connection.received == connection.in_bytes && connection.sent == connection.out_bytes;
    });
  }

  // Sends and receives as much as possible without waiting.
  void progress(const PeerWait& wait) {
    for (Connection& connection : connections_) {
      if (wait.can_receive(*connection.peer)) receive(connection);
    }
    for (Connection& connection : connections_) {
      while (const std::size_t went = connection.peer->send(some_zeros(sendable(connection))))
        connection.sent += went;
    }
  }

  void await(PeerWait& wait) {
    for (Connection& connection : connections_) {
      if (const std::size_t remaining = connection.in_bytes - connection.received; remaining > 0) {
        connection.peer->wake_at(std::min(remaining, chunk_));
        wait.to_receive(*connection.peer);
      }
      if (sendable(connection) > 0) wait.to_send(*connection.peer);
    }
  }

 private:
  struct Connection {
    Peer* peer;
    std::size_t in_bytes;  // total
    std::size_t out_bytes;
    std::size_t received = 0;
    std::size_t sent = 0;
  };

  std::span<std::byte> some_zeros(std::size_t most) {
    return std::span(zeros_).first(std::min(most, zeros_.size()));
  }

  void receive(Connection& connection) {
    while (const std::size_t came =
               connection.peer->receive(some_zeros(connection.in_bytes - connection.received)))
      connection.received += came;
  }

  // Blocks can be sent to the parent when all children's have arrived; to a child, when the parent's have
  // too.
  std::size_t sendable(const Connection& to) const {
    std::size_t blocks = blocks_;
    for (const Connection& from : connections_) {
      if (to.peer == parent_ && from.peer == parent_) continue;
      if (from.in_bytes > 0) blocks = std::min(blocks, from.received * blocks_ / from.in_bytes);
    }
    return (blocks_ == 0 ? 0 : to.out_bytes * blocks / blocks_) - to.sent;
  }

  std::size_t blocks_;
  Peer* parent_;
  std::vector<Connection> connections_;
  std::size_t chunk_ = 0;
  std::vector<std::byte> zeros_;
};

}  // namespace

void replay_tree_sparse_all_reduce(std::size_t elements, std::span<const EdgeBytes> edges,
                                   const TreeNeighbours& neighbours, double timeout_s) {
  run_to_completion(TreeSparseAllReduceReplay(elements, edges, neighbours), timeout_s);
}

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "trainer/collectives/algorithms/pipelined.hh"
#include "trainer/collectives/algorithms/stream.hh"

namespace thinpipe::trainer {
namespace {

class TreeAllGather {
 public:
  TreeAllGather(std::span<std::byte> bytes, std::span<const std::size_t> block_bytes, std::size_t rank,
                const std::vector<Branch>& branches)
      : own_bytes_(block_bytes[rank]), chunk_(chunk_of(bytes.size())) {
    std::vector<std::size_t> offsets(block_bytes.size());
    std::exclusive_scan(block_bytes.begin(), block_bytes.end(), offsets.begin(), std::size_t{0});
    const auto append = [&](Stream& stream, std::size_t of) { stream.append(offsets[of], block_bytes[of]); };
    for (const Branch& branch : branches) {
      Connection& connection = connections_.emplace_back(
          Connection{.peer = branch.peer, .in = Stream(bytes), .out = Stream(bytes)});
      for (const std::size_t of : branch.ranks) append(connection.in, of);
      append(connection.out, rank);
      for (const Branch& other : branches) {
        if (other.peer == branch.peer) continue;
        for (const std::size_t of : other.ranks) append(connection.out, of);
      }
    }
  }

  bool done() const {
    return std::ranges::all_of(connections_, [](const Connection& connection) {
      return connection.in.ended() && connection.out.ended();
    });
  }

  // Sends and receives as much as possible without waiting.
  void progress(const PeerWait& wait) {
    for (Connection& connection : connections_) {
      if (wait.can_receive(*connection.peer))
        connection.in.pass(connection.peer->receive(connection.in.next(connection.in.total())));
    }
    for (Connection& connection : connections_) {
      while (const std::size_t went = connection.peer->send(connection.out.next(ready_to_send(connection))))
        connection.out.pass(went);
    }
  }

  void await(PeerWait& wait) {
    for (Connection& connection : connections_) {
      if (!connection.in.ended()) {
        connection.peer->wake_at(std::min(connection.in.total() - connection.in.passed(), chunk_));
        wait.to_receive(*connection.peer);
      }
      if (ready_to_send(connection) > 0) wait.to_send(*connection.peer);
    }
  }

 private:
  struct Connection {
    Peer* peer;
    Stream in;
    Stream out;
  };

  // This worker's own block, then the data from the other branches, in their order.
  std::size_t ready_to_send(const Connection& connection) const {
    std::size_t ready = own_bytes_;
    for (const Connection& other : connections_) {
      if (&other == &connection) continue;
      ready += other.in.passed();
      if (!other.in.ended()) break;
    }
    return ready - connection.out.passed();
  }

  std::size_t own_bytes_;
  std::size_t chunk_;
  std::vector<Connection> connections_;
};

}  // namespace

void tree_all_gather(std::span<std::byte> bytes, std::span<const std::size_t> block_bytes, std::size_t rank,
                     const std::vector<Branch>& branches, double timeout_s) {
  run_to_completion(TreeAllGather(bytes, block_bytes, rank, branches), timeout_s);
}

}  // namespace thinpipe::trainer

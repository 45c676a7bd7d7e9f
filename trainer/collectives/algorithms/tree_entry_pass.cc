#include <fmt/format.h>

#include "trainer/collectives/algorithms/pipelined.hh"
#include "trainer/collectives/sparse_block.hh"

namespace thinpipe::trainer {
namespace {

// Assumes blocks of equal length, and sends zeros.
class TreeEntryPass {
 public:
  TreeEntryPass(std::size_t elements, std::span<const EdgeBytes> edges, const TreePlace& place)
      : blocks_(Blocks{elements}.count()), parent_(place.parent) {
    std::vector<Peer*> peers = place.children;
    if (parent_ != nullptr) peers.push_back(parent_);
    std::size_t most_bytes = 0;
    for (Peer* const peer : peers) {
      const auto edge = std::ranges::find(edges, peer->rank(), &EdgeBytes::neighbour);
      if (edge == edges.end())
        throw Error(fmt::format("no byte counts are given for the edge to rank {}", peer->rank()));
      const Way& way = ways_.emplace_back(Way{.peer = peer,
                                              .in_bytes = static_cast<std::size_t>(edge->received),
                                              .out_bytes = static_cast<std::size_t>(edge->sent)});
      most_bytes = std::max({most_bytes, way.in_bytes, way.out_bytes});
    }
    chunk_ = chunk_of(most_bytes);
    zeros_.resize(chunk_);
  }

  bool done() const {
    return std::ranges::all_of(
        ways_, [](const Way& way) { return way.received == way.in_bytes && way.sent == way.out_bytes; });
  }

  // Sends and receives as much as possible without waiting.
  void go_on(const PeerWait& wait) {
    for (Way& way : ways_) {
      if (wait.can_receive(*way.peer)) receive(way);
    }
    for (Way& way : ways_) {
      while (const std::size_t went = way.peer->send(some_zeros(sendable(way)))) way.sent += went;
    }
  }

  void await(PeerWait& wait) {
    for (Way& way : ways_) {
      if (const std::size_t to_come = way.in_bytes - way.received; to_come > 0) {
        way.peer->wake_at(std::min(to_come, chunk_));
        wait.to_receive(*way.peer);
      }
      if (sendable(way) > 0) wait.to_send(*way.peer);
    }
  }

 private:
  struct Way {
    Peer* peer;
    std::size_t in_bytes;  // total
    std::size_t out_bytes;
    std::size_t received = 0;
    std::size_t sent = 0;
  };

  std::span<std::byte> some_zeros(std::size_t most) {
    return std::span(zeros_).first(std::min(most, zeros_.size()));
  }

  void receive(Way& way) {
    while (const std::size_t came = way.peer->receive(some_zeros(way.in_bytes - way.received)))
      way.received += came;
  }

  // Blocks can be sent to the parent when all children's have arrived; to a child, when the parent's have
  // too.
  std::size_t sendable(const Way& to) const {
    std::size_t blocks = blocks_;
    for (const Way& from : ways_) {
      if (to.peer == parent_ && from.peer == parent_) continue;
      if (from.in_bytes > 0) blocks = std::min(blocks, from.received * blocks_ / from.in_bytes);
    }
    return (blocks_ == 0 ? 0 : to.out_bytes * blocks / blocks_) - to.sent;
  }

  std::size_t blocks_;
  Peer* parent_;
  std::vector<Way> ways_;
  std::size_t chunk_ = 0;
  std::vector<std::byte> zeros_;
};

}  // namespace

void tree_entry_pass(std::size_t elements, std::span<const EdgeBytes> edges, const TreePlace& place,
                     double timeout_s) {
  run_to_its_end(TreeEntryPass(elements, edges, place), timeout_s);
}

}  // namespace thinpipe::trainer

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
      Way& way = ways_.emplace_back(Way{.peer = branch.peer, .in = Stream(bytes), .out = Stream(bytes)});
      for (const std::size_t of : branch.ranks) append(way.in, of);
      append(way.out, rank);
      for (const Branch& other : branches) {
        if (other.peer == branch.peer) continue;
        for (const std::size_t of : other.ranks) append(way.out, of);
      }
    }
  }

  bool done() const {
    return std::ranges::all_of(ways_, [](const Way& way) { return way.in.ended() && way.out.ended(); });
  }

  // Sends and receives as much as possible without waiting.
  void go_on(const PeerWait& wait) {
    for (Way& way : ways_) {
      if (wait.can_receive(*way.peer)) way.in.pass(way.peer->receive(way.in.next(way.in.total())));
    }
    for (Way& way : ways_) {
      while (const std::size_t went = way.peer->send(way.out.next(ready_to_send(way)))) way.out.pass(went);
    }
  }

  void await(PeerWait& wait) {
    for (Way& way : ways_) {
      if (!way.in.ended()) {
        way.peer->wake_at(std::min(way.in.total() - way.in.passed(), chunk_));
        wait.to_receive(*way.peer);
      }
      if (ready_to_send(way) > 0) wait.to_send(*way.peer);
    }
  }

 private:
  struct Way {
    Peer* peer;
    Stream in;
    Stream out;
  };

  // This worker's own block, then the data from the other branches, in their order.
  std::size_t ready_to_send(const Way& way) const {
    std::size_t ready = own_bytes_;
    for (const Way& other : ways_) {
      if (&other == &way) continue;
      ready += other.in.passed();
      if (!other.in.ended()) break;
    }
    return ready - way.out.passed();
  }

  std::size_t own_bytes_;
  std::size_t chunk_;
  std::vector<Way> ways_;
};

}  // namespace

void tree_all_gather(std::span<std::byte> bytes, std::span<const std::size_t> block_bytes, std::size_t rank,
                     const std::vector<Branch>& branches, double timeout_s) {
  run_to_its_end(TreeAllGather(bytes, block_bytes, rank, branches), timeout_s);
}

}  // namespace thinpipe::trainer

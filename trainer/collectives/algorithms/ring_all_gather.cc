// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "trainer/collectives/algorithms/pipelined.hh"
#include "trainer/collectives/algorithms/stream.hh"

namespace thinpipe::trainer {
namespace {

class RingAllGather {
 public:
  RingAllGather(std::span<std::byte> bytes, std::span<const std::size_t> block_bytes, std::size_t rank,
                Peer& next, Peer& previous)
      : next_(next),
        previous_(previous),
        in_(bytes),
        out_(bytes),
        own_bytes_(block_bytes[rank]),
        chunk_(chunk_of(bytes.size())) {
    const std::size_t n = block_bytes.size();
    std::vector<std::size_t> offsets(n);
    std::exclusive_scan(block_bytes.begin(), block_bytes.end(), offsets.begin(), std::size_t{0});
    for (std::size_t distance = 0; distance < n; ++distance) {
      const std::size_t of = (rank + n - distance) % n;
      if (distance > 0) in_.append(offsets[of], block_bytes[of]);
      if (distance + 1 < n) out_.append(offsets[of], block_bytes[of]);
    }
  }

  bool done() const { return in_.ended() && out_.ended(); }

  // Sends and receives as much as possible without waiting.
  void progress(const PeerWait& wait) {
    if (wait.can_receive(previous_)) {
      while (const std::size_t came = previous_.receive(in_.next(in_.total()))) in_.pass(came);
    }
    while (const std::size_t went = next_.send(out_.next(ready_to_send()))) out_.pass(went);
  }

  void await(PeerWait& wait) {
    if (!in_.ended()) {
      // Waits for no more than the current block: the others may be waiting for the next one.
      previous_.wake_at(in_.next(chunk_).size());
      wait.to_receive(previous_);
    }
    if (ready_to_send() > 0) wait.to_send(next_);
  }

 private:
  // This worker's own block, then the received ones except the next worker's own.
  std::size_t ready_to_send() const {
    return std::min(own_bytes_ + in_.passed(), out_.total()) - out_.passed();
  }

  Peer& next_;
  Peer& previous_;
  Stream in_;
  Stream out_;
  std::size_t own_bytes_;
  std::size_t chunk_;
};

}  // namespace

void ring_all_gather(std::span<std::byte> bytes, std::span<const std::size_t> block_bytes, std::size_t rank,
                     Peer& next, Peer& previous, double timeout_s) {
  run_to_completion(RingAllGather(bytes, block_bytes, rank, next, previous), timeout_s);
}

}  // namespace thinpipe::trainer

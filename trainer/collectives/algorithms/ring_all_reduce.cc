// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/algorithms/incoming.hh"
#include "trainer/collectives/algorithms/pipelined.hh"
#include "trainer/collectives/algorithms/stream.hh"

namespace thinpipe::trainer {
namespace {

class RingAllReduce {
 public:
  RingAllReduce(const Reducible& vector, int rank, int world_size, Peer& next, Peer& previous)
      : vector_(vector),
        next_(next),
        previous_(previous),
        sums_(vector.bytes),
        finals_(vector.bytes),
        out_(vector.bytes),
        own_block_bytes_(block_bytes(rank, world_size)),
        chunk_(chunk_in_blocks(vector.bytes.size(), world_size)),
        incoming_(previous, add_blocks(sums_, rank - 1, world_size - 1, world_size), chunk_,
                  vector.element_bytes) {
    add_blocks(finals_, rank, world_size - 1, world_size);
    add_blocks(out_, rank, 2 * (world_size - 1), world_size);
  }

  bool done() const { return out_.ended() && sums_.ended() && finals_.ended(); }

  // Sends and receives as much as possible without waiting.
  void progress(const PeerWait& wait) {
    incoming_.receive(wait);
    while (sum_up()) {
    }
    if (sums_.ended() && wait.can_receive(previous_)) {
      finals_.pass(previous_.receive(finals_.next(finals_.total())));
    }
    while (const std::size_t went = next_.send(out_.next(ready_to_send()))) out_.pass(went);
  }

  void await(PeerWait& wait) {
    incoming_.await(wait);
    if (sums_.ended() && !finals_.ended()) {
      previous_.wake_at(std::min(finals_.total() - finals_.passed(), chunk_));
      wait.to_receive(previous_);
    }
    if (ready_to_send() > 0) wait.to_send(next_);
  }

 private:
  // If a block had fewer bytes than two chunks, each worker might wait for the rest of another's chunk.
  static std::size_t chunk_in_blocks(std::size_t bytes, int world_size) {
    const std::size_t half_a_block = bytes / static_cast<std::size_t>(2 * world_size);
    return std::max<std::size_t>(1, std::min(chunk_of(bytes), half_a_block));
  }

  std::size_t boundary(int block, int world_size) const {
    const std::size_t elements = vector_.bytes.size() / vector_.element_bytes;
    return elements * static_cast<std::size_t>(block) / static_cast<std::size_t>(world_size) *
           vector_.element_bytes;
  }
  std::size_t block_bytes(int block, int world_size) const {
    return boundary(block + 1, world_size) - boundary(block, world_size);
  }

  // Appends `count` blocks from `first` downwards, cyclically. Returns the stream's total bytes.
  std::size_t add_blocks(Stream& stream, int first, int count, int world_size) const {
    for (int i = 0; i < count; ++i) {
      const int block = ((first - i) % world_size + world_size) % world_size;
      stream.append(boundary(block, world_size), block_bytes(block, world_size));
    }
    return stream.total();
  }

  // This worker's own block, then the received ones except the last, which the next worker had first.
  std::size_t ready_to_send() const {
    return std::min(own_block_bytes_ + sums_.passed() + finals_.passed(), out_.total()) - out_.passed();
  }

  bool sum_up() {
    const std::span<std::byte> place = sums_.next(incoming_.size());
    const std::size_t elements = place.size() / vector_.element_bytes;
    if (elements == 0) return false;
    const void* part = incoming_.data();
    vector_.reduce(place.data(), std::span(&part, 1), elements);
    incoming_.take(elements * vector_.element_bytes);
    sums_.pass(elements * vector_.element_bytes);
    return true;
  }

  const Reducible& vector_;
  Peer& next_;
  Peer& previous_;
  Stream sums_;    // received data to be summed,
  Stream finals_;  // followed by received results
  Stream out_;
  std::size_t own_block_bytes_;
  std::size_t chunk_;
  Incoming incoming_;
};

}  // namespace

void ring_all_reduce(const Reducible& vector, int rank, int world_size, Peer& next, Peer& previous,
                     double timeout_s) {
  run_to_completion(RingAllReduce(vector, rank, world_size, next, previous), timeout_s);
}

}  // namespace thinpipe::trainer

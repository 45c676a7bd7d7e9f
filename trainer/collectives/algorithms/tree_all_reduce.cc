// SPDX-License-Identifier: Apache-2.0
#include <ranges>

#include "trainer/collectives/algorithms/incoming.hh"
#include "trainer/collectives/algorithms/pipelined.hh"

namespace thinpipe::trainer {
namespace {

// The vector is summed up to `summed_`, sent to the parent up to `sent_up_`, and final up to `final_`.
class TreeAllReduce {
 public:
  TreeAllReduce(const Reducible& vector, const TreeNeighbours& neighbours)
      : vector_(vector), tree_(neighbours), size_(vector.bytes.size()), chunk_(chunk_of(size_)) {
    for (Peer* child : neighbours.children) {
      incoming_.emplace_back(*child, size_, chunk_, vector.element_bytes);
      sent_down_.push_back(0);
    }
    if (incoming_.empty()) summed_ = size_;
  }

  bool done() const {
    return final_ == size_ && (tree_.parent == nullptr || sent_up_ == size_) &&
           std::ranges::all_of(sent_down_, [this](std::size_t sent) { return sent == size_; });
  }

  // Sends and receives as much as possible without waiting.
  void progress(const PeerWait& wait) {
    for (Incoming& child : incoming_) child.receive(wait);
    sum_up();
    if (Peer* parent = tree_.parent) {
      send(*parent, sent_up_, summed_);
      // Data from the parent overwrite data that have been sent up.
      if (wait.can_receive(*parent)) {
        final_ += parent->receive(vector_.bytes.subspan(final_, sent_up_ - final_));
      }
    } else {
      final_ = summed_;
    }
    for (std::size_t i = 0; i < sent_down_.size(); ++i) send(*tree_.children[i], sent_down_[i], final_);
  }

  void await(PeerWait& wait) {
    for (const Incoming& child : incoming_) child.await(wait);
    if (Peer* parent = tree_.parent) {
      if (sent_up_ < summed_) wait.to_send(*parent);
      if (final_ < size_) {
        parent->wake_at(std::min(size_ - final_, chunk_));
        wait.to_receive(*parent);
      }
    }
    for (std::size_t i = 0; i < sent_down_.size(); ++i) {
      if (sent_down_[i] < final_) wait.to_send(*tree_.children[i]);
    }
  }

 private:
  // Sums as far as all children's data have arrived.
  void sum_up() {
    if (incoming_.empty()) return;
    std::size_t bytes = std::ranges::min(incoming_ | std::views::transform(&Incoming::size));
    bytes -= bytes % vector_.element_bytes;
    if (bytes == 0) return;
    std::vector<const void*> parts;
    for (const Incoming& child : incoming_) parts.push_back(child.data());
    vector_.reduce(vector_.bytes.data() + summed_, parts, bytes / vector_.element_bytes);
    for (Incoming& child : incoming_) child.take(bytes);
    summed_ += bytes;
  }

  void send(Peer& peer, std::size_t& sent, std::size_t until) {
    sent += peer.send(vector_.bytes.subspan(sent, until - sent));
  }

  const Reducible& vector_;
  const TreeNeighbours& tree_;
  std::size_t size_;
  std::size_t chunk_;
  std::vector<Incoming> incoming_;
  std::vector<std::size_t> sent_down_;
  std::size_t summed_ = 0;
  std::size_t sent_up_ = 0;
  std::size_t final_ = 0;
};

}  // namespace

void tree_all_reduce(const Reducible& vector, const TreeNeighbours& neighbours, double timeout_s) {
  run_to_completion(TreeAllReduce(vector, neighbours), timeout_s);
}

}  // namespace thinpipe::trainer

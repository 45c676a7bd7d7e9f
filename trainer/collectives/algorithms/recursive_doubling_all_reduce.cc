// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "trainer/collectives/algorithms/pipelined.hh"

namespace thinpipe::trainer {
namespace {

// Two workers exchange their vectors.
class Swap {
 public:
  Swap(std::span<const std::byte> ours, std::span<std::byte> theirs, Peer& partner)
      : out_(ours), in_(theirs), partner_(partner) {}

  bool done() const { return out_.empty() && in_.empty(); }

  // Sends and receives as much as possible without waiting.
  void progress(const PeerWait& wait) {
    if (!out_.empty()) out_ = out_.subspan(partner_.send(out_));
    if (wait.can_receive(partner_)) in_ = in_.subspan(partner_.receive(in_));
  }

  void await(PeerWait& wait) {
    if (!in_.empty()) {
      partner_.wake_at(in_.size());
      wait.to_receive(partner_);
    }
    if (!out_.empty()) wait.to_send(partner_);
  }

 private:
  std::span<const std::byte> out_;
  std::span<std::byte> in_;
  Peer& partner_;
};

}  // namespace

void recursive_doubling_all_reduce(const Reducible& vector, int rank, std::span<Peer* const> partners,
                                   double timeout_s) {
  std::vector<std::byte> theirs(vector.bytes.size());
  for (Peer* partner : partners) {
    run_to_completion(Swap(vector.bytes, theirs, *partner), timeout_s);
    // The lower rank's operand comes first, so that of two NaN both workers keep the same one.
    if (partner->rank() < rank) std::ranges::swap_ranges(vector.bytes, theirs);
    const void* higher = theirs.data();
    vector.reduce(vector.bytes.data(), std::span(&higher, 1), vector.bytes.size() / vector.element_bytes);
  }
}

}  // namespace thinpipe::trainer

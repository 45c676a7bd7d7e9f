// SPDX-License-Identifier: Apache-2.0
// Receives bytes of elements to be summed: it receives while there is room, and the caller takes whole
// elements.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "trainer/collectives/transport/peer.hh"

namespace thinpipe::trainer {

class Incoming {
 public:
  // total_bytes: the number of bytes that will arrive.
  Incoming(Peer& peer, std::size_t total_bytes, std::size_t chunk_bytes, std::size_t element_bytes)
      : peer_(&peer),
        remaining_(total_bytes),
        chunk_(chunk_bytes),
        least_in_place_(std::max(chunk_bytes / 2, element_bytes)),
        room_(2 * std::max(chunk_bytes, element_bytes)) {}

  const std::byte* data() const { return room_.data() + begin_; }
  std::size_t size() const { return end_ - begin_; }
  std::size_t remaining() const { return remaining_; }

  void receive(const PeerWait& wait) {
    if (!wait.can_receive(*peer_)) return;
    const std::size_t most = std::min(remaining_, room_.size() - end_);
    const std::size_t received = peer_->receive(std::span(room_).subspan(end_, most));
    end_ += received;
    remaining_ -= received;
  }

  void take(std::size_t bytes) {
    begin_ += bytes;
    if (size() < least_in_place_) {
      std::memmove(room_.data(), data(), size());
      end_ -= begin_;
      begin_ = 0;
    }
  }

  void await(PeerWait& wait) const {
    if (remaining_ == 0 || end_ == room_.size()) return;
    peer_->wake_at(std::min({remaining_, chunk_, room_.size() - end_}));
    wait.to_receive(*peer_);
  }

 private:
  Peer* peer_;
  std::size_t remaining_;
  std::size_t chunk_;
  // Fewer bytes move to the front, so that there is always room for the rest of an element.
  std::size_t least_in_place_;
  std::vector<std::byte> room_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// Receives blocks of entries from a peer. Their sizes are not known in advance, and the bytes after the last
// block belong to the next call. So it receives no more than the blocks so far require.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "trainer/collectives/sparse_block.hh"
#include "trainer/collectives/transport/peer.hh"

namespace thinpipe::trainer {

class IncomingBlocks {
 public:
  // chunk_bytes: the number of bytes to wait for, if that many must arrive.
  IncomingBlocks(Peer& peer, Blocks blocks, std::size_t chunk_bytes)
      : peer_(&peer),
        blocks_(blocks),
        chunk_(chunk_bytes),
        room_(2 * chunk_bytes + sparse_block_bytes(sparse_block_elements, sparse_block_elements)) {}

  std::size_t received_bytes() const { return received_; }

  bool has_next() const { return whole_ > taken_; }

  // Requires has_next(). The returned message is valid until the next receive().
  std::span<const std::byte> take_next() {
    const auto message = std::span<const std::byte>(room_).subspan(begin_, bytes_of(taken_, begin_));
    begin_ += message.size();
    ++taken_;
    return message;
  }

  void receive(const PeerWait& wait) {
    if (!wait.can_receive(*peer_)) return;
    make_room();
    while (const std::size_t most = receivable()) {
      const std::size_t came = peer_->receive(std::span(room_).subspan(end_, most));
      if (came == 0) return;
      end_ += came;
      received_ += came;
      while (whole_ < blocks_.count() && bytes_of(whole_, whole_end_) <= end_ - whole_end_) {
        whole_end_ += bytes_of(whole_, whole_end_);
        ++whole_;
      }
    }
  }

  void await(PeerWait& wait) const {
    const std::size_t most = receivable();
    if (most == 0) return;
    peer_->wake_at(std::min(most, chunk_));
    wait.to_receive(*peer_);
  }

 private:
  // Returns the bytes of the block at `begin`; those of its head until the head has arrived.
  std::size_t bytes_of(std::size_t block, std::size_t begin) const {
    if (end_ - begin < sparse_block_head_bytes) return sparse_block_head_bytes;
    return sparse_block_bytes(blocks_.elements_of(block), std::span(room_).subspan(begin, end_ - begin));
  }

  // The rest of the current block and the heads of all later blocks must arrive; returns as much as there is
  // room for.
  std::size_t receivable() const {
    if (whole_ == blocks_.count()) return 0;
    const std::size_t rest = bytes_of(whole_, whole_end_) - (end_ - whole_end_);
    const std::size_t heads = (blocks_.count() - whole_ - 1) * sparse_block_head_bytes;
    return std::min(rest + heads, room_.size() - (end_ - begin_));
  }

  // Moves the data to the beginning, so that all free room is behind it.
  void make_room() {
    std::memmove(room_.data(), room_.data() + begin_, end_ - begin_);
    whole_end_ -= begin_;
    end_ -= begin_;
    begin_ = 0;
  }

  Peer* peer_;
  Blocks blocks_;
  std::size_t chunk_;
  std::vector<std::byte> room_;
  std::size_t begin_ = 0;      // of the next block to take
  std::size_t whole_end_ = 0;  // of the complete blocks
  std::size_t end_ = 0;        // of all bytes
  std::size_t taken_ = 0;      // number of blocks
  std::size_t whole_ = 0;      // number of complete blocks, including those taken
  std::size_t received_ = 0;   // number of bytes
};

}  // namespace thinpipe::trainer

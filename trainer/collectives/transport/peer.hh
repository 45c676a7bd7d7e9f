// SPDX-License-Identifier: Apache-2.0
// A TCP connection to another worker that neither blocks nor spins: it sends and receives what it can at
// once, and PeerWait sleeps until more is possible. Messages have no frames, because both ends know how many
// bytes follow.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <poll.h>

#include "common/support/file_descriptor.hh"

namespace thinpipe::trainer {

// How often PeerWait::sleep() has returned in this thread, and how often no byte was sent or received before
// the next call. An exchange that often wakes up for nothing spins.
struct WakeUps {
  std::uint64_t all = 0;
  std::uint64_t for_nothing = 0;
};
WakeUps wake_ups_of_this_thread();

class Peer {
 public:
  // socket: connected; becomes non-blocking.
  Peer(int rank, FileDescriptor socket);

  int rank() const { return rank_; }
  int fd() const { return socket_.get(); }

  // Return the number of bytes sent or received at once, 0 if none could be. Throw Error naming the rank if
  // the connection is broken or the peer has closed it.
  std::size_t send(std::span<const std::byte> bytes);
  std::size_t receive(std::span<std::byte> into);

  // Makes PeerWait wake up only when this many bytes have arrived: once per chunk instead of once per
  // segment. At least 1, and no more than will arrive.
  void wake_at(std::size_t bytes);

 private:
  int rank_;
  FileDescriptor socket_;
  std::size_t wakes_at_ = 1;
};

// Sleeps until one of several peers can send or receive, and then reports which.
class PeerWait {
 public:
  explicit PeerWait(double timeout_s) : timeout_s_(timeout_s) {}

  void to_receive(const Peer& peer) { add(peer, POLLIN); }
  void to_send(const Peer& peer) { add(peer, POLLOUT); }

  // Waits for the registered peers and then forgets them. Throws Error naming them if no byte was sent or
  // received for the whole time-out, whether or not a peer was ready.
  void sleep();

  // Returns whether the awaited number of bytes has arrived. Receiving one segment at a time would also send
  // small segments on, and each costs as much as a large one.
  bool can_receive(const Peer& peer) const;

 private:
  using Clock = std::chrono::steady_clock;

  void add(const Peer& peer, short event);
  [[noreturn]] void give_up() const;

  double timeout_s_;
  std::optional<std::uint64_t> passed_bytes_;  // of this thread, at the last sleep()
  Clock::time_point passed_at_;                // the last sleep() after bytes had passed
  std::vector<pollfd> awaited_;
  std::vector<int> ranks_;  // in the order of awaited_
  std::vector<pollfd> ready_;
};

}  // namespace thinpipe::trainer

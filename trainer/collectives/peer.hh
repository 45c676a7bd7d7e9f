// A TCP connection to another worker that neither waits nor spins: bytes go and come as far as they can at
// once, and PeerWait sleeps until more can. Messages have no frames: both ends know what is to pass.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <poll.h>

#include "harness/support/file_descriptor.hh"

namespace thinpipe::trainer {

// How often PeerWait::sleep() has returned in this thread, and how often no byte went or came before it was
// called again: an exchange that often wakes up for nothing spins.
struct WakeUps {
  std::uint64_t all = 0;
  std::uint64_t for_nothing = 0;
};
WakeUps wake_ups_of_this_thread();

class Peer {
 public:
  // socket: connected; from here on it does not block.
  Peer(int rank, FileDescriptor socket);

  int rank() const { return rank_; }
  int fd() const { return socket_.get(); }

  // How many bytes went or came at once: 0 if none could. Throw Error naming the rank where the connection is
  // broken or the peer has closed it.
  std::size_t send(std::span<const std::byte> bytes);
  std::size_t receive(std::span<std::byte> into);

  // PeerWait wakes once so many bytes are there: once a chunk and not once a segment. At least 1, and no more
  // than will come.
  void wake_at(std::size_t bytes);

 private:
  int rank_;
  FileDescriptor socket_;
  std::size_t wakes_at_ = 1;
};

// Sleeps until one of some peers can go on, and knows which then can.
class PeerWait {
 public:
  explicit PeerWait(double timeout_s) : timeout_s_(timeout_s) {}

  void to_receive(const Peer& peer) { add(peer, POLLIN); }
  void to_send(const Peer& peer) { add(peer, POLLOUT); }

  // Forgets them afterwards. Throws Error naming them where no byte went or came for the whole time-out, be
  // it that none was ready, or that one was whom nothing was sent to.
  void sleep();

  // Whether as many bytes as were waited for are there: who receives whatever has come, a segment at a time,
  // passes it on in small segments too, each at the price of a large one.
  bool can_receive(const Peer& peer) const;

 private:
  using Clock = std::chrono::steady_clock;

  void add(const Peer& peer, short event);
  [[noreturn]] void give_up() const;

  double timeout_s_;
  std::optional<std::uint64_t> passed_bytes_;  // by this thread, until sleep() was last called
  Clock::time_point passed_at_;                // when it was called after some had passed
  std::vector<pollfd> awaited_;
  std::vector<int> ranks_;  // of awaited_
  std::vector<pollfd> ready_;
};

}  // namespace thinpipe::trainer

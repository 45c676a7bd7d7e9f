// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/transport/peer.hh"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "common/support/exception.hh"
#include "trainer/collectives/transport/time_limits.hh"

namespace thinpipe::trainer {
namespace {

template <class Value>
void set_option(int fd, int level, int option, const Value& value, const char* attempt) {
  if (setsockopt(fd, level, option, &value, sizeof value) != 0) throw SystemError(attempt, errno);
}

thread_local WakeUps wake_ups;
thread_local std::uint64_t passed_bytes = 0;

bool would_block(int error_number) {
  return error_number == EAGAIN || error_number == EWOULDBLOCK || error_number == EINTR;
}

std::size_t passed(ssize_t bytes) {
  passed_bytes += static_cast<std::uint64_t>(bytes);
  return static_cast<std::size_t>(bytes);
}

}  // namespace

WakeUps wake_ups_of_this_thread() {
  return wake_ups;
}

Peer::Peer(int rank, FileDescriptor socket) : rank_(rank), socket_(std::move(socket)) {
  const std::string attempt = fmt::format("prepare the connection to rank {}", rank_);
  const int flags = fcntl(fd(), F_GETFL);
  if (flags < 0 || fcntl(fd(), F_SETFL, flags | O_NONBLOCK) != 0) throw SystemError(attempt, errno);
  set_option(fd(), IPPROTO_TCP, TCP_NODELAY, 1, attempt.c_str());
}

std::size_t Peer::send(std::span<const std::byte> bytes) {
  if (bytes.empty()) return 0;
  const ssize_t sent = ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) return passed(sent);
  if (would_block(errno)) return 0;
  throw SystemError(fmt::format("send to rank {}", rank_), errno);
}

std::size_t Peer::receive(std::span<std::byte> into) {
  if (into.empty()) return 0;
  const ssize_t received = ::recv(fd(), into.data(), into.size(), 0);
  if (received > 0) return passed(received);
  if (received == 0) throw Error(fmt::format("receive from rank {}: it has closed the connection", rank_));
  if (would_block(errno)) return 0;
  throw SystemError(fmt::format("receive from rank {}", rank_), errno);
}

void Peer::wake_at(std::size_t bytes) {
  if (bytes == wakes_at_) return;
  set_option(fd(), SOL_SOCKET, SO_RCVLOWAT, static_cast<int>(bytes), "set a socket's low-water mark");
  wakes_at_ = bytes;
}

void PeerWait::add(const Peer& peer, short event) {
  auto found = std::ranges::find(awaited_, peer.fd(), &pollfd::fd);
  if (found == awaited_.end()) {
    ranks_.push_back(peer.rank());
    found = awaited_.insert(found, {.fd = peer.fd(), .events = 0, .revents = 0});
  }
  found->events = static_cast<short>(found->events | event);
}

void PeerWait::sleep() {
  const Clock::time_point now = Clock::now();
  if (passed_bytes != passed_bytes_) {
    passed_bytes_ = passed_bytes;
    passed_at_ = now;
  } else {
    ++wake_ups.for_nothing;
  }
  const double left_s = timeout_s_ - std::chrono::duration<double>(now - passed_at_).count();
  if (left_s <= 0) give_up();
  const int ready = poll(awaited_.data(), awaited_.size(), poll_milliseconds(left_s));
  if (ready < 0 && errno != EINTR) throw SystemError("wait for peers", errno);
  ++wake_ups.all;
  ready_.swap(awaited_);
  awaited_.clear();
  ranks_.clear();
}

void PeerWait::give_up() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < awaited_.size(); ++i) {
    names.push_back(fmt::format("{} rank {}", (awaited_[i].events & POLLIN) != 0 ? "from" : "to", ranks_[i]));
  }
  throw Error(fmt::format("no byte {} for {} s", fmt::join(names, " or "), timeout_s_));
}

bool PeerWait::can_receive(const Peer& peer) const {
  const auto found = std::ranges::find(ready_, peer.fd(), &pollfd::fd);
  return found != ready_.end() && (found->revents & ~POLLOUT) != 0;
}

}  // namespace thinpipe::trainer

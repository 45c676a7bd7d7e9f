// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/transport/peer_sockets.hh"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <netinet/in.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/support/exception.hh"
#include "trainer/base/stopwatch.hh"
#include "trainer/collectives/transport/time_limits.hh"

namespace thinpipe::trainer {
namespace {

using Notice = PeerListener::Notice;

constexpr std::chrono::milliseconds pause_before_retry{50};

FileDescriptor connected(const Notice& to, const Notice* from, double timeout_s, const std::string& attempt) {
  if (to.address_bytes > sizeof to.address) throw Error(attempt + ": its address is too long");
  FileDescriptor out(::socket(to.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!out) throw SystemError(attempt, errno);
  set_timeouts(out, timeout_s);
  if (from != nullptr) {
    sockaddr_storage own = from->address;
    (own.ss_family == AF_INET ? reinterpret_cast<sockaddr_in*>(&own)->sin_port
                              : reinterpret_cast<sockaddr_in6*>(&own)->sin6_port) = 0;
    if (::bind(out.get(), reinterpret_cast<const sockaddr*>(&own), from->address_bytes) != 0)
      throw SystemError(attempt, errno);
  }
  int result = 0;
  do {  // called again after an interruption, Linux's connect() waits for the same connection
    result = ::connect(out.get(), reinterpret_cast<const sockaddr*>(&to.address), to.address_bytes);
  } while (result != 0 && errno == EINTR);
  if (result != 0) throw SystemError(attempt, errno);
  return out;
}

// Returns the connection once the listener has answered. A listener that strangers crowd may have closed it.
FileDescriptor answered(OutgoingPeer& peer, const std::function<OutgoingPeer()>& connect, double timeout_s) {
  const Stopwatch since;
  while (true) {
    try {
      peer.expect_answer();
      return peer.take();
    } catch (const std::exception& error) {
      if (since.elapsed_s() > timeout_s) throw;
      spdlog::warn("{}; connecting again", error.what());
    }
    std::this_thread::sleep_for(pause_before_retry);
    peer = connect();
  }
}

}  // namespace

void set_timeouts(const FileDescriptor& socket, double timeout_s) {
  timeout_s = std::min(timeout_s, max_time_limit_s);
  const auto whole_s = static_cast<time_t>(timeout_s);
  const timeval timeout{
      .tv_sec = whole_s,
      .tv_usec = static_cast<suseconds_t>(1e6 * (timeout_s - static_cast<double>(whole_s)))};
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    if (::setsockopt(socket.get(), SOL_SOCKET, option, &timeout, sizeof timeout) != 0)
      throw SystemError("set a socket's time-out", errno);
  }
}

void send_bytes(const FileDescriptor& socket, std::span<const std::byte> bytes, const std::string& attempt) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) throw SystemError(attempt, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
}

void receive_bytes(const FileDescriptor& socket, std::span<std::byte> into, const std::string& attempt) {
  while (!into.empty()) {
    const ssize_t received = ::recv(socket.get(), into.data(), into.size(), 0);
    if (received < 0 && errno == EINTR) continue;
    if (received < 0) throw SystemError(attempt, errno);
    if (received == 0) throw Error(attempt + ": it has closed the connection");
    into = into.subspan(static_cast<std::size_t>(received));
  }
}

OutgoingPeer::OutgoingPeer(const Notice& to, const Notice* from, const PeerProof& proof, int own_rank,
                           double timeout_s, std::string attempt)
    : attempt_(std::move(attempt)),
      socket_(connected(to, from, timeout_s, attempt_)),
      proof_(proof),
      hello_(proof.hello(own_rank)) {
  send(hello_);
}

void OutgoingPeer::send(std::span<const std::byte> bytes) {
  send_bytes(socket_, bytes, attempt_);
}

void OutgoingPeer::receive(std::span<std::byte> into) {
  receive_bytes(socket_, into, attempt_ + ": wait for its answer");
}

void OutgoingPeer::expect_answer() {
  KeyedHash answer{};
  receive(answer);
  if (!same_bytes(answer, proof_.answer(hello_)))
    throw Error(attempt_ + ": somebody else answers, who does not belong to the run");
}

std::map<int, FileDescriptor> connect_sockets(const PeerListener& listener,
                                              const std::optional<RunToken>& secret,
                                              const std::vector<Notice>& notices, int own_rank,
                                              const std::vector<int>& peers, double timeout_s) {
  const auto connect = [&](int peer) {
    const Notice& to = notices.at(static_cast<std::size_t>(peer));
    return OutgoingPeer(to, &listener.notice(), PeerProof(secret, to.challenge), own_rank, timeout_s,
                        fmt::format("connect to rank {}", peer));
  };
  std::map<int, OutgoingPeer> outgoing;
  std::vector<int> to_accept;
  for (const int peer : peers) {
    if (peer > own_rank) {
      to_accept.push_back(peer);
    } else {
      outgoing.emplace(peer, connect(peer));
    }
  }
  // Answers come last: a worker that waits for one does not keep others waiting for its own.
  std::map<int, FileDescriptor> out = listener.accept(std::move(to_accept), timeout_s);
  for (auto& [rank, peer] : outgoing)
    out.emplace(rank, answered(
                          peer, [&, to = rank] { return connect(to); }, timeout_s));
  return out;
}

}  // namespace thinpipe::trainer

// connect_peers(): each worker listens and announces its address through the group. In each pair, the higher
// rank connects, and proves itself by the token that the listener announced.
#include "trainer/collectives/transport/peer_connections.hh"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <random>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "trainer/collectives/transport/local_address.hh"

namespace thinpipe::trainer {
namespace {

// Where a worker listens, as announced to the group.
struct Notice {
  sockaddr_storage address = {};
  socklen_t address_bytes = 0;
  std::uint64_t token = 0;
};

// The first bytes sent over a connection.
struct Hello {
  std::uint64_t token = 0;
  std::int64_t rank = 0;
};

struct Listener {
  FileDescriptor socket;
  Notice notice;
};

void set_timeouts(const FileDescriptor& socket, double timeout_s) {
  const auto whole_s = static_cast<time_t>(timeout_s);
  const timeval timeout{
      .tv_sec = whole_s,
      .tv_usec = static_cast<suseconds_t>(1e6 * (timeout_s - static_cast<double>(whole_s)))};
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    if (setsockopt(socket.get(), SOL_SOCKET, option, &timeout, sizeof timeout) != 0) {
      throw SystemError("set a socket's time-out", errno);
    }
  }
}

Listener listen_at(const std::string& address, double timeout_s) {
  Listener listener{.socket = bind_to(address), .notice = {}};
  if (listen(listener.socket.get(), SOMAXCONN) != 0) throw SystemError("listen at " + address, errno);
  set_timeouts(listener.socket, timeout_s);
  Notice& notice = listener.notice;
  notice.address_bytes = sizeof notice.address;
  if (getsockname(listener.socket.get(), reinterpret_cast<sockaddr*>(&notice.address),
                  &notice.address_bytes) != 0) {
    throw SystemError("get the port that the socket at " + address + " listens on", errno);
  }
  std::random_device random;
  notice.token = (std::uint64_t{random()} << 32) | random();
  return listener;
}

std::vector<Notice> all_gather_notices(Collective& group, const Notice& own) {
  torch::Tensor bytes = torch::empty(static_cast<std::int64_t>(sizeof own), torch::kUInt8);
  std::memcpy(bytes.data_ptr(), &own, sizeof own);
  const std::vector<std::int64_t> counts(static_cast<std::size_t>(group.world_size()), bytes.numel());
  const torch::Tensor all = group.all_gather_v(bytes, counts);
  std::vector<Notice> notices(counts.size());
  std::memcpy(notices.data(), all.data_ptr(), all.nbytes());
  return notices;
}

FileDescriptor connect_to(int rank, const Notice& notice, const Listener& own, int own_rank,
                          double timeout_s) {
  const std::string attempt = fmt::format("connect to rank {}", rank);
  FileDescriptor connection(socket(notice.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!connection) throw SystemError(attempt, errno);
  set_timeouts(connection, timeout_s);
  // Binds to this worker's address, at any port.
  sockaddr_storage from = own.notice.address;
  (from.ss_family == AF_INET ? reinterpret_cast<sockaddr_in*>(&from)->sin_port
                             : reinterpret_cast<sockaddr_in6*>(&from)->sin6_port) = 0;
  if (bind(connection.get(), reinterpret_cast<const sockaddr*>(&from), own.notice.address_bytes) != 0 ||
      connect(connection.get(), reinterpret_cast<const sockaddr*>(&notice.address), notice.address_bytes) !=
          0) {
    throw SystemError(attempt, errno);
  }
  const Hello hello{.token = notice.token, .rank = own_rank};
  if (send(connection.get(), &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello) {
    throw SystemError(attempt, errno);
  }
  return connection;
}

// Returns the next connection that sends the token; others are closed.
std::pair<int, FileDescriptor> accept_peer(const Listener& own, double timeout_s) {
  while (true) {
    FileDescriptor connection(accept4(own.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection && errno == EINTR) continue;
    if (!connection) throw SystemError("wait for a worker with a higher rank to connect", errno);
    set_timeouts(connection, timeout_s);
    Hello hello;
    const ssize_t received = recv(connection.get(), &hello, sizeof hello, MSG_WAITALL);
    if (received == sizeof hello && hello.token == own.notice.token) {
      return {static_cast<int>(hello.rank), std::move(connection)};
    }
  }
}

}  // namespace

std::map<int, Peer> connect_peers(Collective& group, const std::string& address,
                                  const std::vector<int>& peers, double timeout_s) {
  const Listener listener = listen_at(address, timeout_s);
  const std::vector<Notice> notices = all_gather_notices(group, listener.notice);
  std::map<int, Peer> out;
  std::size_t to_accept = 0;
  for (const int peer : peers) {
    if (peer > group.rank()) {
      ++to_accept;
      continue;
    }
    const Notice& notice = notices.at(static_cast<std::size_t>(peer));
    out.emplace(peer, Peer(peer, connect_to(peer, notice, listener, group.rank(), timeout_s)));
  }
  for (; to_accept > 0; --to_accept) {
    auto [rank, connection] = accept_peer(listener, timeout_s);
    out.emplace(rank, Peer(rank, std::move(connection)));
  }
  return out;
}

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
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

#include "trainer/collectives/transport/peer_listener.hh"

namespace thinpipe::trainer {
namespace {

using Notice = PeerListener::Notice;

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

std::vector<Notice> all_gather_notices(Collective& group, const Notice& own) {
  torch::Tensor bytes = torch::empty(static_cast<std::int64_t>(sizeof own), torch::kUInt8);
  std::memcpy(bytes.data_ptr(), &own, sizeof own);
  const std::vector<std::int64_t> counts(static_cast<std::size_t>(group.world_size()), bytes.numel());
  const torch::Tensor all = group.all_gather_v(bytes, counts);
  std::vector<Notice> notices(counts.size());
  std::memcpy(notices.data(), all.data_ptr(), all.nbytes());
  return notices;
}

FileDescriptor connect_to(int rank, const Notice& notice, const Notice& own, int own_rank, double timeout_s) {
  const std::string attempt = fmt::format("connect to rank {}", rank);
  FileDescriptor connection(socket(notice.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!connection) throw SystemError(attempt, errno);
  set_timeouts(connection, timeout_s);
  // Binds to this worker's address, at any port.
  sockaddr_storage from = own.address;
  (from.ss_family == AF_INET ? reinterpret_cast<sockaddr_in*>(&from)->sin_port
                             : reinterpret_cast<sockaddr_in6*>(&from)->sin6_port) = 0;
  if (bind(connection.get(), reinterpret_cast<const sockaddr*>(&from), own.address_bytes) != 0 ||
      connect(connection.get(), reinterpret_cast<const sockaddr*>(&notice.address), notice.address_bytes) !=
          0) {
    throw SystemError(attempt, errno);
  }
  const PeerHello hello = hello_of(notice.token, own_rank);
  if (send(connection.get(), hello.data(), hello.size(), MSG_NOSIGNAL) != std::ssize(hello)) {
    throw SystemError(attempt, errno);
  }
  return connection;
}

}  // namespace

std::map<int, Peer> connect_peers(Collective& group, const std::string& address,
                                  const std::vector<int>& peers, double timeout_s) {
  const PeerListener listener(address);
  const std::vector<Notice> notices = all_gather_notices(group, listener.notice());
  std::map<int, Peer> out;
  std::vector<int> to_accept;
  for (const int peer : peers) {
    if (peer > group.rank()) {
      to_accept.push_back(peer);
      continue;
    }
    const Notice& notice = notices.at(static_cast<std::size_t>(peer));
    out.emplace(peer, Peer(peer, connect_to(peer, notice, listener.notice(), group.rank(), timeout_s)));
  }
  for (auto& [rank, connection] : listener.accept(std::move(to_accept), timeout_s))
    out.emplace(rank, Peer(rank, std::move(connection)));
  return out;
}

}  // namespace thinpipe::trainer

// SPDX-License-Identifier: Apache-2.0
// Sockets in hosts of the virtual network.
#pragma once

#include <cerrno>

#include <netinet/in.h>
#include <sys/socket.h>

#include "common/support/file_descriptor.hh"
#include "netem/kernel/host.hh"

namespace thinpipe::netem {

// Two connected sockets.
struct Connection {
  FileDescriptor client;
  FileDescriptor server;
};

// Returns the result of a system call, repeated while it fails with EINTR: on a socket whose calls time out, each does if the
// process is stopped and continued. The time-out then starts again.
auto uninterrupted(const auto& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// Opens an IPv4 socket in the host, whose calls time out after host.timeout_s. kind: SOCK_STREAM or SOCK_DGRAM.
FileDescriptor open_socket(const Host& host, int kind = SOCK_STREAM);

// Accepts TCP connections in a host, all on one port, like a server.
class Listener {
 public:
  explicit Listener(const Host& host);

  // Throws SystemError naming both hosts, and the time-out if they do not reach each other within it.
  Connection connect(const Host& from);

 private:
  const Host& host_;
  FileDescriptor socket_;
  sockaddr_in address_;
};

// Connects two hosts by TCP. Throws as Listener::connect() does.
Connection connect_hosts(const Host& from, const Host& to);

// Returns a UDP socket in each host; the client's datagrams go to the server.
Connection connect_datagrams(const Host& from, const Host& to);

// Sets after which time receiving from the socket fails with EAGAIN.
void limit_receive_time(const FileDescriptor& socket, double seconds);

}  // namespace thinpipe::netem

// SPDX-License-Identifier: Apache-2.0
// A TCP connection within the test's process.
#pragma once

#include <cerrno>
#include <optional>
#include <utility>

#include <arpa/inet.h>
#include <sys/socket.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"

namespace thinpipe::trainer {

// Returns both ends of a connection over 127.0.0.1. buffer_bytes: of each direction at each end; nullopt: the system's.
inline std::pair<FileDescriptor, FileDescriptor> tcp_connection(std::optional<int> buffer_bytes = {}) {
  const auto check = [](bool good, const char* attempt) {
    if (!good) throw SystemError(attempt, errno);
  };
  const auto make_socket = [&] {
    FileDescriptor made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    check(static_cast<bool>(made), "make a socket");
    for (const int option : {SO_SNDBUF, SO_RCVBUF}) {
      if (!buffer_bytes) break;
      const int bytes = *buffer_bytes;
      check(::setsockopt(made.get(), SOL_SOCKET, option, &bytes, sizeof bytes) == 0, "set a buffer");
    }
    return made;
  };
  const FileDescriptor listener = make_socket();
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  check(::bind(listener.get(), generic, size) == 0, "bind");
  check(::listen(listener.get(), 1) == 0, "listen");
  check(::getsockname(listener.get(), generic, &size) == 0, "get the port");
  FileDescriptor from = make_socket();
  check(::connect(from.get(), generic, size) == 0, "connect");
  FileDescriptor to(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  check(static_cast<bool>(to), "accept");
  return {std::move(from), std::move(to)};
}

}  // namespace thinpipe::trainer

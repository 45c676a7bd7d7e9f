// SPDX-License-Identifier: Apache-2.0
#include "netem/kernel/host_sockets.hh"

#include <cmath>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "common/support/exception.hh"

namespace thinpipe::netem {
namespace {

sockaddr* generic(sockaddr_in& address) {
  return reinterpret_cast<sockaddr*>(&address);
}

sockaddr_in address_of(const Host& host) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  system_call("read the address " + host.address,
              ::inet_pton(AF_INET, host.address.c_str(), &address.sin_addr) == 1 ? 0 : -1);
  return address;
}

// Returns the address of a socket that the kernel has given a port.
sockaddr_in bind_in(const Host& host, const FileDescriptor& socket, const std::string& attempt) {
  sockaddr_in address = address_of(host);
  system_call(attempt + " (bind)", ::bind(socket.get(), generic(address), sizeof address));
  socklen_t length = sizeof address;
  system_call(attempt + " (find the port)", ::getsockname(socket.get(), generic(address), &length));
  return address;
}

void limit_time(const FileDescriptor& socket, int option, double seconds) {
  const double whole_s = std::floor(seconds);
  const timeval limit{.tv_sec = static_cast<time_t>(whole_s),
                      .tv_usec = static_cast<suseconds_t>((seconds - whole_s) * 1e6)};
  system_call("set a socket's timeout", ::setsockopt(socket.get(), SOL_SOCKET, option, &limit, sizeof limit));
}

// Returns the result of connect() or accept(). Throws SystemError; if it timed out, with the time, of which
// the error number of these calls says nothing.
int within_time(const std::string& attempt, const Host& host, int result) {
  if (result < 0 && (errno == EINPROGRESS || errno == EALREADY || errno == EAGAIN))
    throw SystemError(fmt::format("{}: no answer within {:.3g} s", attempt, host.timeout_s), ETIMEDOUT);
  return system_call(attempt, result);
}

}  // namespace

FileDescriptor open_socket(const Host& host, int kind) {
  FileDescriptor socket;
  const auto open = [&] {
    socket = FileDescriptor(
        system_call("open a socket in " + host.name, ::socket(AF_INET, kind | SOCK_CLOEXEC, 0)));
  };
  if (host.network_namespace) {
    host.network_namespace->run(open);
  } else {
    open();
  }
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) limit_time(socket, option, host.timeout_s);
  return socket;
}

Listener::Listener(const Host& host) : host_(host), socket_(open_socket(host)) {
  const std::string attempt = "listen in " + host.name;
  address_ = bind_in(host, socket_, attempt);
  system_call(attempt, ::listen(socket_.get(), 1));
}

Connection Listener::connect(const Host& from) {
  const std::string attempt = fmt::format("connect {} to {}", from.name, host_.name);
  Connection connection;
  connection.client = open_socket(from);
  // Called again, Linux's connect() waits for the same connection.
  within_time(attempt, from, uninterrupted([&] {
                return ::connect(connection.client.get(), generic(address_), sizeof address_);
              }));
  connection.server = FileDescriptor(within_time(
      attempt + " (accept)", host_,
      uninterrupted([this] { return ::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC); })));
  return connection;
}

Connection connect_hosts(const Host& from, const Host& to) {
  return Listener(to).connect(from);
}

Connection connect_datagrams(const Host& from, const Host& to) {
  const std::string attempt = fmt::format("send datagrams from {} to {}", from.name, to.name);
  Connection connection;
  connection.server = open_socket(to, SOCK_DGRAM);
  sockaddr_in address = bind_in(to, connection.server, attempt);
  connection.client = open_socket(from, SOCK_DGRAM);
  system_call(attempt, ::connect(connection.client.get(), generic(address), sizeof address));
  return connection;
}

void limit_receive_time(const FileDescriptor& socket, double seconds) {
  limit_time(socket, SO_RCVTIMEO, seconds);
}

}  // namespace thinpipe::netem

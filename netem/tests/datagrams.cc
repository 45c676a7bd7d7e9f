// SPDX-License-Identifier: Apache-2.0
#include "netem/tests/datagrams.hh"

#include <chrono>
#include <cstring>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"

namespace thinpipe::netem {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint16_t port = 5000;

double now_s() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

struct Header {
  std::size_t number;
  double sent_s;
};

sockaddr_in address_of(const Host& host) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  system_call("read an address", ::inet_pton(AF_INET, host.address.c_str(), &address.sin_addr) == 1 ? 0 : -1);
  return address;
}

FileDescriptor open_socket(const Host& host) {
  FileDescriptor socket;
  host.network_namespace->run([&] {
    socket = FileDescriptor(
        system_call("open a datagram socket", ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)));
  });
  return socket;
}

std::vector<Arrival> receive(const FileDescriptor& socket, const Datagrams& datagrams) {
  std::vector<Arrival> out;
  std::vector<char> buffer(2048);
  pollfd readable{.fd = socket.get(), .events = POLLIN, .revents = 0};
  while (system_call("wait for a datagram",
                     ::poll(&readable, 1, static_cast<int>(1000 * datagrams.patience_s))) > 0) {
    system_call("receive a datagram", ::recv(socket.get(), buffer.data(), buffer.size(), 0));
    const double time_s = now_s();
    Header header{};
    std::memcpy(&header, buffer.data(), sizeof header);
    out.push_back({header.number, time_s - header.sent_s, time_s});
  }
  return out;
}

}  // namespace

std::vector<Arrival> send_datagrams(const Host& from, const Host& to, const Datagrams& datagrams) {
  const FileDescriptor receiver = open_socket(to);
  sockaddr_in address = address_of(to);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  system_call("bind a datagram socket", ::bind(receiver.get(), generic, sizeof address));
  const FileDescriptor sender = open_socket(from);
  std::vector<Arrival> arrivals;
  {
    const std::jthread receiving([&] { arrivals = receive(receiver, datagrams); });
    std::vector<char> payload(datagrams.payload_bytes);
    for (std::size_t i = 0; i < datagrams.count; ++i) {
      // Never less than the gap, even if late: a burst to catch up could overrun the receiver.
      if (i > 0) std::this_thread::sleep_for(std::chrono::duration<double>(datagrams.gap_s));
      const Header header{i, now_s()};
      std::memcpy(payload.data(), &header, sizeof header);
      system_call("send a datagram",
                  ::sendto(sender.get(), payload.data(), payload.size(), 0, generic, sizeof address));
    }
  }
  return arrivals;
}

}  // namespace thinpipe::netem

// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/transport/pair_speed.hh"

#include <algorithm>
#include <array>
#include <cerrno>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "common/support/exception.hh"
#include "trainer/base/stopwatch.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::size_t max_round_trips = 31;
constexpr std::size_t min_round_trips = 5;

// Its first byte tells whether another follows.
using Message = std::array<std::byte, std::size_t{1} << 14>;
constexpr std::byte more{1};
constexpr std::byte last{0};

// What waits to be sent delays the end, so it is kept short; what is on its way is TCP's choice.
constexpr int max_unsent_bytes = 1 << 17;
constexpr double left_out = 0.25;

void send_all(Peer& peer, std::span<const std::byte> bytes, double timeout_s) {
  PeerWait wait(timeout_s);
  while (true) {
    bytes = bytes.subspan(peer.send(bytes));
    if (bytes.empty()) return;
    wait.to_send(peer);
    wait.sleep();
  }
}

void receive_all(Peer& peer, std::span<std::byte> into, double timeout_s) {
  PeerWait wait(timeout_s);
  while (true) {
    into = into.subspan(peer.receive(into));
    if (into.empty()) return;
    wait.to_receive(peer);
    wait.sleep();
  }
}

void send_mark(Peer& peer, std::byte mark, double timeout_s) {
  send_all(peer, {&mark, 1}, timeout_s);
}

std::byte receive_mark(Peer& peer, double timeout_s) {
  std::byte mark{};
  receive_all(peer, {&mark, 1}, timeout_s);
  return mark;
}

}  // namespace

double measure_round_trip_s(Peer& peer, double longest_s, double timeout_s) {
  std::vector<double> times_s;
  const Stopwatch whole;
  while (times_s.size() < min_round_trips ||
         (times_s.size() < max_round_trips && whole.elapsed_s() < longest_s)) {
    const Stopwatch one;
    send_mark(peer, more, timeout_s);
    receive_mark(peer, timeout_s);
    times_s.push_back(one.elapsed_s());
  }
  send_mark(peer, last, timeout_s);
  const auto middle = times_s.begin() + std::ssize(times_s) / 2;
  std::ranges::nth_element(times_s, middle);
  return *middle;
}

void answer_round_trips(Peer& peer, double timeout_s) {
  while (receive_mark(peer, timeout_s) == more) send_mark(peer, more, timeout_s);
}

void send_for(Peer& peer, double seconds, double timeout_s) {
  if (setsockopt(peer.fd(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &max_unsent_bytes, sizeof max_unsent_bytes) != 0)
    throw SystemError("limit what waits to be sent", errno);
  Message message{};
  const Stopwatch stopwatch;
  do {
    message[0] = stopwatch.elapsed_s() < seconds ? more : last;
    send_all(peer, message, timeout_s);
  } while (message[0] == more);
  receive_mark(peer, timeout_s);
}

double measure_received_bit_per_s(Peer& peer, double seconds, double timeout_s) {
  constexpr double bits_per_byte = 8;
  Message message{};
  receive_all(peer, message, timeout_s);
  const Stopwatch stopwatch;  // since the first message
  double counted_from_s = 0;
  std::size_t counted = 0;
  double at_s = 0;
  while (message[0] == more) {
    receive_all(peer, message, timeout_s);
    at_s = stopwatch.elapsed_s();
    if (at_s < left_out * seconds && message[0] == more) {
      counted_from_s = at_s;
      counted = 0;
    } else {
      ++counted;
    }
  }
  send_mark(peer, last, timeout_s);
  return static_cast<double>(counted * sizeof(Message)) * bits_per_byte / (at_s - counted_from_s);
}

}  // namespace thinpipe::trainer

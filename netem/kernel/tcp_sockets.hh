// SPDX-License-Identifier: Apache-2.0
// The kernel's state of the TCP connections in a network namespace (sock_diag, struct tcp_info), whoever opened them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "netem/kernel/netlink.hh"

namespace thinpipe::netem {

// One end of a connection, and what it knows about the data that it sends. Counters begin with the connection.
struct TcpSocket {
  std::string local_address;  // dotted IPv4, also of a socket of IPv6 that is connected over IPv4
  std::uint16_t local_port = 0;
  std::string remote_address;
  std::uint16_t remote_port = 0;
  std::uint64_t acknowledged_bytes =
      0;  // the kernel adds one for opening the connection and one for closing it
  std::uint64_t retransmitted_segments = 0;
  double round_trip_s = 0;      // smoothed
  double min_round_trip_s = 0;  // of the last five minutes, by the kernel's default
  double congestion_window_bytes = 0;
  double delivery_rate_bit_per_s = 0;  // the kernel's latest estimate
};

class TcpSockets {
 public:
  // Reads the namespace of the calling thread, from now on and from any thread. Throws NetlinkError.
  TcpSockets();

  // Returns the connections that are open. Throws NetlinkError; its code is -NLE_OBJ_NOTFOUND if the kernel lacks tcp_diag.
  std::vector<TcpSocket> open() const;

  // Returns the connections that have ended since the last call, with their last state. The kernel drops what exceeds its buffer,
  // which holds several hundred. Throws NetlinkError.
  std::vector<TcpSocket> closed() const;

 private:
  OwnedSocket requests_;
  OwnedSocket closures_;  // subscribed to the sockets that the kernel destroys
};

}  // namespace thinpipe::netem

// The kernel's state of the TCP connections in a network namespace (sock_diag, struct tcp_info), whoever opened them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "netem/kernel/netlink.hh"

namespace thinpipe::netem {

// One end of an established connection, and what it knows about the data that it sends. Counters begin with the connection.
struct TcpSocket {
  std::string local_address;  // dotted IPv4
  std::uint16_t local_port = 0;
  std::string remote_address;
  std::uint16_t remote_port = 0;
  std::uint64_t acknowledged_bytes = 0;
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

  // Returns the established connections. Throws NetlinkError; its code is -NLE_OBJ_NOTFOUND if the kernel lacks tcp_diag.
  std::vector<TcpSocket> read() const;

 private:
  OwnedSocket socket_;
};

}  // namespace thinpipe::netem

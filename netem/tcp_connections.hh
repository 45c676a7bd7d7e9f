// SPDX-License-Identifier: Apache-2.0
// What TCP did between the hosts of a network during a run: retransmissions, round trips, congestion windows.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "netem/kernel/tcp_sockets.hh"
#include "netem/network.hh"

namespace thinpipe::netem {

// All connections over which one host sent data to another. Times, windows and rates are over the readings, one a second, of
// each connection that made progress since the reading before.
struct TcpEdge {
  std::string from;
  std::string to;
  std::int64_t connections = 0;
  std::int64_t acknowledged_bytes = 0;
  std::int64_t retransmitted_segments = 0;
  double min_round_trip_s = 0;   // the kernel's minimum
  double mean_round_trip_s = 0;  // of its smoothed round trips
  double max_round_trip_s = 0;
  double mean_congestion_window_bytes = 0;
  double mean_delivery_rate_bit_per_s = 0;
};

// Returns an object with these members.
Json to_json(const TcpEdge& edge);

class TcpConnections {
 public:
  // `network` must outlive this. Without an emulated network there is nothing to read.
  explicit TcpConnections(const Network& network);

  // Counts from now on. Takes a tenth of a second, as end() does. Throws NetlinkError, as the others do.
  void begin();

  // Does the same without the wait, if connections are in use already. Of one that was closed just before,
  // which the kernel may report later, it counts what came after the latest reading.
  void begin_at_once();

  // Reads all hosts' sockets if it is time to: once a second, or more rarely with more than 64 hosts.
  void sample(double now_s);

  // Reads them for the last time.
  void end();

  // Returns the edges over which data was acknowledged, in the order of hosts; none that carried less than a hundredth of
  // the busiest.
  std::vector<TcpEdge> edges() const;

 private:
  using Ports = std::pair<std::uint16_t, std::uint16_t>;  // local, remote
  struct Sum {
    TcpEdge edge;
    std::map<Ports, TcpSocket> latest;  // of the open connections
    std::int64_t closed = 0;            // connections
    double round_trips_s = 0;
    double windows_bytes = 0;
    double rates_bit_per_s = 0;
    std::int64_t readings = 0;
  };

  // Each adds what has happened since the reading before; if not `counts`, only remembers this one.
  void read_open(bool counts);
  bool read_closed(bool counts);  // whether any had been closed
  void read_closed_until_quiet(bool counts);
  Sum* sum_of(std::size_t from, const TcpSocket& socket);  // null if its peer is no host of the network
  static void add(Sum& sum, const TcpSocket& socket, bool counts);

  const Network& network_;
  std::map<std::string, std::size_t> host_by_address_;
  std::vector<std::unique_ptr<TcpSockets>> sockets_;         // of each host; empty if nothing is emulated
  std::map<std::pair<std::size_t, std::size_t>, Sum> sums_;  // by sending and receiving host
  double period_s_ = 1;
  double read_at_s_ = 0;
};

}  // namespace thinpipe::netem

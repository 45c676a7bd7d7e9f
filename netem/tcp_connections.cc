// SPDX-License-Identifier: Apache-2.0
#include "netem/tcp_connections.hh"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace thinpipe::netem {
namespace {

constexpr double hosts_a_second = 64;  // reading that many takes a few milliseconds

// The kernel tells of a closed connection by a worker thread of its own, some time after the connection has left the list of
// open ones: less than a millisecond, unless all cores are busy.
constexpr std::chrono::milliseconds quiet_time{100};
constexpr int most_quiet_times = 20;  // somebody may open and close connections all the time

// A count that is below the earlier one is of a new connection with the same ports: the kernel dropped its predecessor's end.
std::int64_t increase(std::uint64_t before, std::uint64_t after) {
  return static_cast<std::int64_t>(after < before ? after : after - before);
}

std::pair<std::uint16_t, std::uint16_t> ports(const TcpSocket& socket) {
  return {socket.local_port, socket.remote_port};
}

}  // namespace

Json to_json(const TcpEdge& edge) {
  return {{"from", edge.from},
          {"to", edge.to},
          {"connections", edge.connections},
          {"acknowledged_bytes", edge.acknowledged_bytes},
          {"retransmitted_segments", edge.retransmitted_segments},
          {"min_round_trip_s", edge.min_round_trip_s},
          {"mean_round_trip_s", edge.mean_round_trip_s},
          {"max_round_trip_s", edge.max_round_trip_s},
          {"mean_congestion_window_bytes", edge.mean_congestion_window_bytes},
          {"mean_delivery_rate_bit_per_s", edge.mean_delivery_rate_bit_per_s}};
}

TcpConnections::TcpConnections(const Network& network) : network_(network) {
  const std::vector<Host>& hosts = network.hosts();
  if (!network.topology().is_emulated()) return;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    host_by_address_[hosts[i].address] = i;
    hosts[i].network_namespace->run([this] { sockets_.push_back(std::make_unique<TcpSockets>()); });
  }
  period_s_ = std::max(1.0, static_cast<double>(hosts.size()) / hosts_a_second);
}

void TcpConnections::begin() {
  sums_.clear();
  read_open(false);
  read_closed_until_quiet(false);
}

void TcpConnections::begin_at_once() {
  for (auto& [hosts, sum] : sums_) {
    Sum fresh;
    fresh.latest = std::move(sum.latest);
    sum = std::move(fresh);
  }
  read_open(false);
  read_closed(false);
}

void TcpConnections::sample(double now_s) {
  if (now_s - read_at_s_ < period_s_) return;
  read_at_s_ = now_s;
  read_open(true);
  read_closed(true);
}

// Closed ones come last: one that is closed in between is in both lists, instead of in none.
void TcpConnections::end() {
  read_open(true);
  read_closed_until_quiet(true);
}

void TcpConnections::read_open(bool counts) {
  for (std::size_t from = 0; from < sockets_.size(); ++from) {
    for (const TcpSocket& socket : sockets_[from]->open()) {
      if (Sum* sum = sum_of(from, socket)) add(*sum, socket, counts);
    }
  }
}

bool TcpConnections::read_closed(bool counts) {
  bool any = false;
  for (std::size_t from = 0; from < sockets_.size(); ++from) {
    for (const TcpSocket& socket : sockets_[from]->closed()) {
      Sum* const sum = sum_of(from, socket);
      if (sum == nullptr) continue;
      any = true;
      add(*sum, socket, counts);
      sum->latest.erase(ports(socket));  // another connection may use them
      if (counts) ++sum->closed;
    }
  }
  return any;
}

void TcpConnections::read_closed_until_quiet(bool counts) {
  if (sockets_.empty()) return;
  read_closed(counts);
  for (int i = 0; i < most_quiet_times; ++i) {
    std::this_thread::sleep_for(quiet_time);
    if (!read_closed(counts)) return;
  }
}

TcpConnections::Sum* TcpConnections::sum_of(std::size_t from, const TcpSocket& socket) {
  const auto to = host_by_address_.find(socket.remote_address);
  return to == host_by_address_.end() ? nullptr : &sums_[{from, to->second}];
}

void TcpConnections::add(Sum& sum, const TcpSocket& socket, bool counts) {
  TcpSocket& latest = sum.latest[ports(socket)];
  const std::int64_t bytes = increase(latest.acknowledged_bytes, socket.acknowledged_bytes);
  const std::int64_t segments = increase(latest.retransmitted_segments, socket.retransmitted_segments);
  latest = socket;
  if (!counts) return;
  TcpEdge& edge = sum.edge;
  edge.acknowledged_bytes += bytes;
  edge.retransmitted_segments += segments;
  if (bytes == 0) return;
  const bool is_first = sum.readings == 0;
  edge.min_round_trip_s =
      is_first ? socket.min_round_trip_s : std::min(edge.min_round_trip_s, socket.min_round_trip_s);
  edge.max_round_trip_s = std::max(edge.max_round_trip_s, socket.round_trip_s);
  sum.round_trips_s += socket.round_trip_s;
  sum.windows_bytes += socket.congestion_window_bytes;
  sum.rates_bit_per_s += socket.delivery_rate_bit_per_s;
  ++sum.readings;
}

std::vector<TcpEdge> TcpConnections::edges() const {
  std::int64_t most_bytes = 0;
  for (const auto& [hosts, sum] : sums_) most_bytes = std::max(most_bytes, sum.edge.acknowledged_bytes);
  std::vector<TcpEdge> out;
  for (const auto& [hosts, sum] : sums_) {
    if (sum.edge.acknowledged_bytes == 0 || 100 * sum.edge.acknowledged_bytes < most_bytes) continue;
    TcpEdge& edge = out.emplace_back(sum.edge);
    edge.from = network_.hosts()[hosts.first].name;
    edge.to = network_.hosts()[hosts.second].name;
    edge.connections = static_cast<std::int64_t>(sum.latest.size()) + sum.closed;
    const auto readings = static_cast<double>(sum.readings);
    edge.mean_round_trip_s = sum.round_trips_s / readings;
    edge.mean_congestion_window_bytes = sum.windows_bytes / readings;
    edge.mean_delivery_rate_bit_per_s = sum.rates_bit_per_s / readings;
  }
  return out;
}

}  // namespace thinpipe::netem

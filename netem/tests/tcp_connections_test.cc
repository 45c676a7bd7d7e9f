// SPDX-License-Identifier: Apache-2.0
// What TCP did between hosts, compared with what was sent and with the kernel's own statistics.
#include "netem/tcp_connections.hh"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "common/support/file_descriptor.hh"
#include "netem/kernel/probe.hh"
#include "netem/tests/transfer.hh"

namespace thinpipe::netem {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

constexpr std::size_t payload_bytes = 3'000'000;

// Two hosts behind routers, between which a short queue drops frames of a flow that grows.
Topology lossy_pair() {
  return parse_topology({{"name", "pair"},
                         {"forwarding", "routed"},
                         {"switches", {"r", "s"}},
                         {"hosts", {"a", "b"}},
                         {"links",
                          {{{"between", {"a", "r"}}},
                           {{"between", {"r", "s"}}, {"rate", "20 Mbit/s"}, {"queue", "25 kB"}},
                           {{"between", {"s", "b"}}}}}},
                        {"pair", ""});
}

// Returns Tcp's RetransSegs of /proc/net/snmp in the host, as nstat shows it.
std::int64_t retransmissions_in(const Host& host) {
  std::int64_t out = -1;
  host.network_namespace->run([&out] {
    std::istringstream text(read_file("/proc/thread-self/net/snmp"));
    std::vector<std::string> names;
    for (std::string line; std::getline(text, line);) {
      if (!line.starts_with("Tcp:")) continue;
      std::istringstream words(line);
      std::vector<std::string> row{std::istream_iterator<std::string>(words), {}};
      if (names.empty()) {
        names = row;
      } else {
        out = std::stoll(
            row.at(static_cast<std::size_t>(std::ranges::find(names, "RetransSegs") - names.begin())));
      }
    }
  });
  return out;
}

TEST(TcpConnectionsTest, CountBytesAndRetransmissionsAsTheKernelDoes) {
  const Network network(lossy_pair());
  const Connection connection = connect_hosts(network.host("a"), network.host("b"));
  TcpConnections connections(network);
  transfer(connection, 100'000);
  connections.begin();
  const std::int64_t before = retransmissions_in(network.host("a"));
  transfer(connection, payload_bytes);
  connections.end();
  const std::int64_t after = retransmissions_in(network.host("a"));
  ASSERT_THAT(connections.edges(), ElementsAre(Field(&TcpEdge::from, "a")));
  const TcpEdge edge = connections.edges().front();
  EXPECT_EQ(edge.to, "b");
  EXPECT_EQ(edge.connections, 1);
  EXPECT_EQ(edge.acknowledged_bytes, payload_bytes);
  EXPECT_GT(after, before) << "the queue was too short";
  EXPECT_EQ(edge.retransmitted_segments, after - before);
  EXPECT_GT(edge.min_round_trip_s, 0);
  EXPECT_LE(edge.min_round_trip_s, edge.mean_round_trip_s);
  EXPECT_LE(edge.mean_round_trip_s, edge.max_round_trip_s);
  EXPECT_GT(edge.mean_congestion_window_bytes, 1448);
  EXPECT_GT(edge.mean_delivery_rate_bit_per_s, 0);
}

TEST(TcpConnectionsTest, WhatCameBeforeDoesNotCount) {
  const Network network(lossy_pair());
  const Connection connection = connect_hosts(network.host("a"), network.host("b"));
  TcpConnections connections(network);
  transfer(connection, 50'000);
  connections.begin();
  connections.end();
  EXPECT_THAT(connections.edges(), IsEmpty());
}

// Workers may close their connections, or die, before the run's last reading.
TEST(TcpConnectionsTest, CountWhatClosedConnectionsDid) {
  const Network network(lossy_pair());
  const auto connect_and_transfer = [&network](std::size_t bytes) {
    transfer(connect_hosts(network.host("a"), network.host("b")), bytes);
  };
  TcpConnections connections(network);
  connect_and_transfer(90'000);
  connections.begin();
  connect_and_transfer(20'000);
  {
    const Connection connection = connect_hosts(network.host("a"), network.host("b"));
    transfer(connection, 30'000);
    connections.sample(100);
    transfer(connection, 40'000);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // closing takes a round trip
  connections.end();
  ASSERT_THAT(connections.edges(), ElementsAre(Field(&TcpEdge::from, "a")));
  const TcpEdge edge = connections.edges().front();
  EXPECT_EQ(edge.connections, 2);
  const std::int64_t sent_bytes = 20'000 + 30'000 + 40'000;
  EXPECT_GE(edge.acknowledged_bytes, sent_bytes);
  EXPECT_LE(edge.acknowledged_bytes, sent_bytes + 2 * 2) << "opening and closing count as a byte each";
}

TEST(TcpConnectionsTest, SamplesAreASecondApart) {
  const Network network(lossy_pair());
  const Connection connection = connect_hosts(network.host("a"), network.host("b"));
  TcpConnections connections(network);
  connections.begin();
  connections.sample(100);
  transfer(connection, 50'000);
  connections.sample(100.9);
  EXPECT_THAT(connections.edges(), IsEmpty()) << "it is not time yet";
  connections.sample(101);
  EXPECT_EQ(connections.edges().size(), 1U);
}

TEST(TcpConnectionsTest, OnLoopbackThereIsNothingToRead) {
  const Network network(
      parse_topology({{"name", "here"}, {"kind", "loopback"}, {"hosts", {"a", "b"}}}, {"here", ""}));
  TcpConnections connections(network);
  connections.begin();
  connections.end();
  EXPECT_THAT(connections.edges(), IsEmpty());
}

}  // namespace
}  // namespace thinpipe::netem

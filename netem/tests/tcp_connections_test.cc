// SPDX-License-Identifier: Apache-2.0
// What TCP did between hosts, compared with what was sent and with the kernel's own statistics.
#include "netem/tcp_connections.hh"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <sstream>
#include <thread>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "common/support/file_descriptor.hh"
#include "netem/kernel/probe.hh"
#include "netem/tests/transfer.hh"
#include "netem/topology/topology_format.hh"

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

// A script does not wait for the metering to begin.
TEST(TcpConnectionsTest, MayBeginWithoutAWait) {
  const Network network(lossy_pair());
  const Connection connection = connect_hosts(network.host("a"), network.host("b"));
  TcpConnections connections(network);
  connections.begin();
  transfer(connection, 50'000);
  connections.sample(100);
  transfer(connection, 40'000);
  const auto started = std::chrono::steady_clock::now();
  connections.begin_at_once();
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::milliseconds(100));
  transfer(connection, 30'000);
  connections.end();
  ASSERT_THAT(connections.edges(), ElementsAre(Field(&TcpEdge::from, "a")));
  EXPECT_EQ(connections.edges().front().connections, 1);
  EXPECT_EQ(connections.edges().front().acknowledged_bytes, 30'000);
}

FileDescriptor socket_of_ipv6(const Host& host) {
  FileDescriptor out;
  host.network_namespace->run(
      [&out] { out = FileDescriptor(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)); });
  return out;
}

// Connects sockets of IPv6 over IPv4, as PyTorch, gRPC and Java do. Throws SystemError.
Connection connect_by_mapped_addresses(const Host& from, const Host& to) {
  const FileDescriptor listener = socket_of_ipv6(to);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof address;
  system_call("bind", ::bind(listener.get(), generic, length));
  system_call("listen", ::listen(listener.get(), 1));
  system_call("find the port", ::getsockname(listener.get(), generic, &length));
  ::inet_pton(AF_INET6, ("::ffff:" + to.address).c_str(), &address.sin6_addr);
  Connection out{.client = socket_of_ipv6(from), .server = {}};
  system_call("connect", ::connect(out.client.get(), generic, length));
  out.server = FileDescriptor(system_call("accept", ::accept(listener.get(), nullptr, nullptr)));
  return out;
}

TEST(TcpConnectionsTest, SocketsOfIpv6OverIpv4CountToo) {
  const Network network(lossy_pair());
  const Host& a = network.host("a");
  const Host& b = network.host("b");
  if (!socket_of_ipv6(a)) GTEST_SKIP() << "this kernel has no IPv6";
  TcpConnections connections(network);
  const Connection kept = connect_by_mapped_addresses(a, b);
  connections.begin();
  transfer(kept, 50'000);
  transfer(connect_by_mapped_addresses(a, b), 70'000);          // and closes it
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // closing takes a round trip
  connections.end();
  ASSERT_THAT(connections.edges(), ElementsAre(Field(&TcpEdge::from, "a")));
  const TcpEdge edge = connections.edges().front();
  EXPECT_EQ(edge.to, "b");
  EXPECT_EQ(edge.connections, 2);
  EXPECT_GE(edge.acknowledged_bytes, 50'000 + 70'000);
  EXPECT_LE(edge.acknowledged_bytes, 50'000 + 70'000 + 2) << "opening and closing count as a byte each";
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

// SPDX-License-Identifier: Apache-2.0
// Packets on paths with a cap have the topology's size, by the counts of the kernel.
#include <string>

#include <gtest/gtest.h>

#include "netem/kernel/probe.hh"
#include "netem/network.hh"
#include "netem/tests/transfer.hh"
#include "netem/topology/topology_format.hh"

namespace thinpipe::netem {
namespace {

struct Case {
  const char* forwarding;
  unsigned packet_bytes;
};

// Prints the case in the test's name.
void PrintTo(const Case& value, std::ostream* out) {
  *out << value.forwarding << value.packet_bytes;
}

class PacketSizeTest : public testing::TestWithParam<Case> {};

TEST_P(PacketSizeTest, FramesCarryAsMuchAsTheTopologySays) {
  const auto& [forwarding, packet_bytes] = GetParam();
  const Network network(parse_topology({{"name", "pair"},
                                        {"mtu", packet_bytes},
                                        {"forwarding", forwarding},
                                        {"switches", {"r", "s"}},
                                        {"hosts", {"a", "b"}},
                                        {"links",
                                         {{{"between", {"a", "r"}}},
                                          {{"between", {"r", "s"}}, {"rate", "200 Mbit/s"}},
                                          {{"between", {"s", "b"}}}}}},
                                       {"pair", ""}));
  const Connection connection = connect_hosts(network.host("a"), network.host("b"));
  EXPECT_EQ(largest_packet_bytes(connection.client), packet_bytes);
  const LinkCounters before = network.counters().at(0);
  constexpr std::size_t payload = 4'000'000;
  transfer(connection, payload);
  const LinkCounters after = network.counters().at(0);
  const Frame frame{.packet_bytes = packet_bytes};
  const auto bytes = static_cast<double>(after.bytes - before.bytes);
  EXPECT_GE(bytes, payload / frame.goodput_of_cap());
  EXPECT_LE(bytes, 1.01 * payload / frame.goodput_of_cap()) << "a few short frames and retransmissions";
  const double frames = payload / frame.payload_bytes();
  EXPECT_NEAR(static_cast<double>(after.packets - before.packets), frames, 0.03 * frames);
}

INSTANTIATE_TEST_SUITE_P(Sizes, PacketSizeTest,
                         testing::Values(Case{"bridged", min_packet_bytes}, Case{"bridged", 9000},
                                         Case{"routed", min_packet_bytes}, Case{"routed", 9000},
                                         Case{"routed", max_packet_bytes}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace thinpipe::netem
